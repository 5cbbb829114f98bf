//! From a text to a statement.

use serde_json::{Number, Value};

use super::statement::{Factor, Item, Op, Select, Source, Statement, Sum, Test};
use super::token::{Token, tokens};
use crate::emulator::world::engine::message::Refusal;

/// Reads one statement.
pub(in crate::emulator::world) fn parse(query: &str) -> Result<Statement, Refusal> {
    let mut parser = Parser { tokens: tokens(query)?, at: 0 };
    let statement = parser.statement()?;
    parser.symbol(";");
    match parser.peek() {
        None => Ok(statement),
        Some(_) => Err(parser.wrong()),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn wrong(&self) -> Refusal {
        let near = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Word(text) | Token::Quoted(text) | Token::Text(text) | Token::Number(text)) => {
                text.chars().take(64).collect()
            }
            Some(Token::Symbol(symbol)) => (*symbol).to_owned(),
        };
        Refusal::bad(format!(
            "syntax error near {near}: the emulator understands SELECT from one table, INSERT, UPDATE, DELETE, TRUNCATE, CREATE TABLE and DROP TABLE"
        ))
    }

    /// Takes a keyword when it is next.
    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(next)) if next == word);
        self.at += usize::from(found);
        found
    }

    /// Takes some keywords in a row, or none of them.
    fn words(&mut self, words: &[&str]) -> bool {
        let start = self.at;
        let all = words.iter().all(|word| self.word(word));
        if !all {
            self.at = start;
        }
        all
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(next)) if *next == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, found: bool) -> Result<(), Refusal> {
        if found { Ok(()) } else { Err(self.wrong()) }
    }

    fn name(&mut self) -> Result<String, Refusal> {
        match self.peek() {
            Some(Token::Word(name) | Token::Quoted(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.wrong()),
        }
    }

    /// Reads what commas part.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
        let mut items = vec![read(self)?];
        while self.symbol(",") {
            items.push(read(self)?);
        }
        Ok(items)
    }

    /// Reads what commas part within parentheses.
    fn group<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
        let open = self.symbol("(");
        self.expect(open)?;
        if self.symbol(")") {
            return Ok(Vec::new());
        }
        let items = self.list(read)?;
        let closed = self.symbol(")");
        self.expect(closed)?;
        Ok(items)
    }

    fn literal(&mut self) -> Result<Value, Refusal> {
        let negative = self.symbol("-");
        let value = match self.peek() {
            Some(Token::Number(text)) => number(text, negative),
            Some(Token::Text(text)) if !negative => Some(Value::from(text.as_str())),
            Some(Token::Word(word)) if !negative => match word.as_str() {
                "null" => Some(Value::Null),
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            _ => None,
        };
        let value = value.ok_or_else(|| self.wrong())?;
        self.at += 1;
        Ok(value)
    }

    fn statement(&mut self) -> Result<Statement, Refusal> {
        if self.word("select") {
            return self.select().map(Statement::Select);
        }
        if self.words(&["show", "tables"]) {
            return Ok(Statement::Select(shown("information_schema", "tables", "table_name")));
        }
        if self.words(&["show", "databases"]) {
            return Ok(Statement::Select(shown("information_schema", "schemata", "schema_name")));
        }
        if self.words(&["create", "table"]) {
            let if_absent = self.words(&["if", "not", "exists"]);
            let table = self.table()?;
            return Ok(Statement::Create { table, columns: self.columns()?, if_absent });
        }
        if self.words(&["drop", "table"]) {
            let if_present = self.words(&["if", "exists"]);
            return Ok(Statement::Drop { table: self.table()?, if_present });
        }
        if self.words(&["insert", "into"]) {
            return self.insert();
        }
        if self.word("update") {
            return self.update();
        }
        if self.words(&["delete", "from"]) {
            return Ok(Statement::Delete { table: self.table()?, filter: self.filter()? });
        }
        if self.word("truncate") {
            self.word("table");
            return Ok(Statement::Delete { table: self.table()?, filter: Vec::new() });
        }
        Err(self.wrong())
    }

    /// Reads the name of a table that can be changed; its schema says nothing new.
    fn table(&mut self) -> Result<String, Refusal> {
        let name = self.name()?;
        if self.symbol(".") { self.name() } else { Ok(name) }
    }

    /// Reads the columns of a new table: what constrains them means nothing here.
    fn columns(&mut self) -> Result<Vec<(String, String)>, Refusal> {
        const CONSTRAINTS: &[&str] =
            &["primary", "foreign", "unique", "constraint", "check", "key", "index"];
        let open = self.symbol("(");
        self.expect(open)?;
        let mut columns = Vec::new();
        loop {
            let name = self.name()?;
            if !CONSTRAINTS.contains(&name.as_str()) {
                let kind =
                    if matches!(self.peek(), Some(Token::Word(_))) { self.name()? } else { String::new() };
                columns.push((name, kind));
            }
            self.skip_to_comma()?;
            if self.symbol(")") {
                break;
            }
            let more = self.symbol(",");
            self.expect(more)?;
        }
        // An engine and its settings may follow.
        while self.peek().is_some_and(|token| *token != Token::Symbol(";")) {
            self.at += 1;
        }
        Ok(columns)
    }

    /// Passes over what stands before the next comma or closing parenthesis of this level.
    fn skip_to_comma(&mut self) -> Result<(), Refusal> {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token {
                Token::Symbol("," | ")") if depth == 0 => return Ok(()),
                Token::Symbol("(") => depth += 1,
                Token::Symbol(")") => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        Err(self.wrong())
    }

    fn insert(&mut self) -> Result<Statement, Refusal> {
        let table = self.table()?;
        let named = matches!(self.peek(), Some(Token::Symbol("(")));
        let columns = if named { Some(self.group(Self::name)?) } else { None };
        let values = self.word("values");
        self.expect(values)?;
        let rows = self.list(|parser| parser.group(Self::literal))?;
        Ok(Statement::Insert { table, columns, rows })
    }

    fn update(&mut self) -> Result<Statement, Refusal> {
        let table = self.table()?;
        let set = self.word("set");
        self.expect(set)?;
        let set = self.list(|parser| {
            let column = parser.name()?;
            let equals = parser.symbol("=");
            parser.expect(equals)?;
            Ok((column, parser.literal()?))
        })?;
        Ok(Statement::Update { table, set, filter: self.filter()? })
    }

    fn select(&mut self) -> Result<Select, Refusal> {
        let items = self.list(Self::item)?;
        let from = if self.word("from") { Some(self.source()?) } else { None };
        let filter = self.filter()?;
        let order = if self.words(&["order", "by"]) { Some(self.order()?) } else { None };
        let mut select = Select { items, from, filter, order, offset: 0, limit: None };
        loop {
            if self.word("limit") {
                select.limit = Some(self.count()?);
            } else if self.word("offset") {
                select.offset = self.count()?;
            } else {
                return Ok(select);
            }
        }
    }

    fn count(&mut self) -> Result<usize, Refusal> {
        let read = self.literal()?.as_u64().and_then(|number| usize::try_from(number).ok());
        read.ok_or_else(|| Refusal::bad("LIMIT and OFFSET take a whole number"))
    }

    fn order(&mut self) -> Result<(String, bool), Refusal> {
        let column = self.name()?;
        let descends = self.word("desc");
        self.word("asc");
        Ok((column, descends))
    }

    fn source(&mut self) -> Result<Source, Refusal> {
        let name = self.name()?;
        if matches!(self.peek(), Some(Token::Symbol("("))) {
            return Ok(Source::Series(name, self.group(Self::literal)?));
        }
        if self.symbol(".") {
            return Ok(Source::Table { schema: Some(name), name: self.name()? });
        }
        Ok(Source::Table { schema: None, name })
    }

    fn item(&mut self) -> Result<Item, Refusal> {
        if self.symbol("*") {
            return Ok(Item::All);
        }
        let start = self.at;
        if self.word("count") && self.symbol("(") {
            let star = self.symbol("*");
            let _ = star || self.name().is_ok();
            let closed = self.symbol(")");
            self.expect(closed)?;
            if self.word("as") {
                self.name()?;
            }
            return Ok(Item::Count);
        }
        self.at = start;
        let (sum, heading) = self.sum()?;
        let heading = if self.word("as") { self.name()? } else { heading };
        Ok(Item::Sum(sum, heading))
    }

    /// Reads a sum, and what its column is called.
    fn sum(&mut self) -> Result<(Sum, String), Refusal> {
        let mut sum = Vec::new();
        let mut heading = "?column?".to_owned();
        let mut minus = false;
        loop {
            let mut product = vec![self.factor()?];
            while self.symbol("*") {
                product.push(self.factor()?);
            }
            sum.push((minus, product));
            minus = self.symbol("-");
            if !minus && !self.symbol("+") {
                break;
            }
        }
        if let [(_, product)] = sum.as_slice()
            && let [Factor::Column(name) | Factor::Call(name, _)] = product.as_slice()
        {
            heading.clone_from(name);
        }
        Ok((sum, heading))
    }

    fn factor(&mut self) -> Result<Factor, Refusal> {
        let start = self.at;
        if let Ok(value) = self.literal() {
            return Ok(Factor::Literal(value));
        }
        self.at = start;
        let mut name = self.name()?;
        if matches!(self.peek(), Some(Token::Symbol("("))) {
            return Ok(Factor::Call(name, self.group(Self::literal)?));
        }
        if self.symbol(".") {
            name = self.name()?;
        }
        // Some functions go without parentheses.
        match name.as_str() {
            "current_user" | "current_database" | "current_timestamp" => Ok(Factor::Call(name, Vec::new())),
            _ => Ok(Factor::Column(name)),
        }
    }

    fn filter(&mut self) -> Result<Vec<Test>, Refusal> {
        let mut tests = Vec::new();
        if !self.word("where") {
            return Ok(tests);
        }
        loop {
            tests.push(self.test()?);
            if !self.word("and") {
                return Ok(tests);
            }
        }
    }

    fn test(&mut self) -> Result<Test, Refusal> {
        const OPS: &[(&str, Op)] = &[
            ("=", Op::Equal),
            ("<>", Op::Different),
            ("!=", Op::Different),
            ("<=", Op::AtMost),
            (">=", Op::AtLeast),
            ("<", Op::Less),
            (">", Op::More),
        ];
        let column = self.name()?;
        if self.words(&["is", "not", "null"]) {
            return Ok(Test { column, op: Op::NotNull, value: Value::Null });
        }
        if self.words(&["is", "null"]) {
            return Ok(Test { column, op: Op::Null, value: Value::Null });
        }
        let op = match OPS.iter().find(|(symbol, _)| self.symbol(symbol)) {
            Some((_, op)) => *op,
            None if self.word("like") => Op::Like,
            None => return Err(self.wrong()),
        };
        Ok(Test { column, op, value: self.literal()? })
    }
}

fn number(text: &str, negative: bool) -> Option<Value> {
    let text = if negative { format!("-{text}") } else { text.to_owned() };
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    text.parse().ok().and_then(Number::from_f64).map(Value::Number)
}

/// Returns the query that a `SHOW` stands for.
fn shown(schema: &str, name: &str, column: &str) -> Select {
    let factor = Factor::Column(column.to_owned());
    Select {
        items: vec![Item::Sum(vec![(false, vec![factor])], column.to_owned())],
        from: Some(Source::Table { schema: Some(schema.to_owned()), name: name.to_owned() }),
        ..Select::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn any_words_are_read_or_refused(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "select", "from", "where", "create", "table", "insert", "into", "values", "(", ")", ",", "*",
                    "a", "'b'", "1", "-", "=", "count", "order", "by", "limit", "delete", "update", "set", ";", "--",
                    "primary", "null", "is", "not", ".", "\"",
                ]),
                0..24,
            ),
        ) {
            let _ = parse(&words.join(" "));
        }
    }

    #[test]
    fn nothing_nests_so_nothing_overflows() {
        assert!(parse(&format!("SELECT {}", "(".repeat(60_000))).is_err());
        assert!(parse(&format!("CREATE TABLE a (b {}", "(".repeat(60_000))).is_err());
        assert!(parse(&format!("SELECT {}1", "1 + ".repeat(10_000))).is_ok());
    }
}
