//! Parser of the SQL subset: query in, `Statement` out. Recursive descent without nesting, so its depth is bounded.

use serde_json::{Number, Value};

use super::statement::{
    ComparisonOp, Condition, Operand, RowSource, Select, SelectItem, Statement, SumTerms,
};
use super::token::{SqlToken, tokenize_query};
use crate::emulator::world::engine::message::ErrorResponse;

/// Parses a single statement, which may end with a semicolon; anything after it is an error.
pub(in crate::emulator::world) fn parse(query: &str) -> Result<Statement, ErrorResponse> {
    let mut parser = SqlParser { tokens: tokenize_query(query)?, at: 0 };
    let statement = parser.parse_statement()?;
    parser.take_symbol(";");
    match parser.peek() {
        None => Ok(statement),
        Some(_) => Err(parser.syntax_error()),
    }
}

struct SqlParser {
    tokens: Vec<SqlToken>,
    at: usize,
}

impl SqlParser {
    fn peek(&self) -> Option<&SqlToken> {
        self.tokens.get(self.at)
    }

    fn syntax_error(&self) -> ErrorResponse {
        let near = match self.peek() {
            None => "the end".to_owned(),
            Some(
                SqlToken::Word(text)
                | SqlToken::Quoted(text)
                | SqlToken::Text(text)
                | SqlToken::Number(text),
            ) => text.chars().take(64).collect(),
            Some(SqlToken::Symbol(symbol)) => (*symbol).to_owned(),
        };
        ErrorResponse::bad_request(format!(
            "syntax error near {near}: the emulator understands SELECT from one table, INSERT, UPDATE, DELETE, TRUNCATE, CREATE TABLE and DROP TABLE"
        ))
    }

    /// Consumes a keyword if it is next; returns whether it was.
    fn take_keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(SqlToken::Word(next)) if next == word);
        self.at += usize::from(found);
        found
    }

    /// Consumes a sequence of keywords, or nothing if the sequence does not match.
    fn take_keywords(&mut self, words: &[&str]) -> bool {
        let start = self.at;
        let all = words.iter().all(|word| self.take_keyword(word));
        if !all {
            self.at = start;
        }
        all
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(SqlToken::Symbol(next)) if *next == symbol);
        self.at += usize::from(found);
        found
    }

    fn check_found(&mut self, found: bool) -> Result<(), ErrorResponse> {
        if found { Ok(()) } else { Err(self.syntax_error()) }
    }

    fn name(&mut self) -> Result<String, ErrorResponse> {
        match self.peek() {
            Some(SqlToken::Word(name) | SqlToken::Quoted(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// Reads a list of at least one item, separated by commas.
    fn parse_list<T>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, ErrorResponse>,
    ) -> Result<Vec<T>, ErrorResponse> {
        let mut items = vec![read(self)?];
        while self.take_symbol(",") {
            items.push(read(self)?);
        }
        Ok(items)
    }

    /// Reads a list separated by commas, in parentheses; it may be empty.
    fn parse_group<T>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, ErrorResponse>,
    ) -> Result<Vec<T>, ErrorResponse> {
        let open = self.take_symbol("(");
        self.check_found(open)?;
        if self.take_symbol(")") {
            return Ok(Vec::new());
        }
        let items = self.parse_list(read)?;
        let closed = self.take_symbol(")");
        self.check_found(closed)?;
        Ok(items)
    }

    fn parse_literal(&mut self) -> Result<Value, ErrorResponse> {
        let negative = self.take_symbol("-");
        let value = match self.peek() {
            Some(SqlToken::Number(text)) => parse_number(text, negative),
            Some(SqlToken::Text(text)) if !negative => Some(Value::from(text.as_str())),
            Some(SqlToken::Word(word)) if !negative => match word.as_str() {
                "null" => Some(Value::Null),
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            _ => None,
        };
        let value = value.ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        Ok(value)
    }

    fn parse_statement(&mut self) -> Result<Statement, ErrorResponse> {
        if self.take_keyword("select") {
            return self.parse_select().map(Statement::Select);
        }
        if self.take_keywords(&["show", "tables"]) {
            return Ok(Statement::Select(select_for_show("information_schema", "tables", "table_name")));
        }
        if self.take_keywords(&["show", "databases"]) {
            return Ok(Statement::Select(select_for_show("information_schema", "schemata", "schema_name")));
        }
        if self.take_keywords(&["create", "table"]) {
            let if_absent = self.take_keywords(&["if", "not", "exists"]);
            let table = self.parse_table_name()?;
            return Ok(Statement::Create { table, columns: self.parse_column_definitions()?, if_absent });
        }
        if self.take_keywords(&["drop", "table"]) {
            let if_present = self.take_keywords(&["if", "exists"]);
            return Ok(Statement::Drop { table: self.parse_table_name()?, if_present });
        }
        if self.take_keywords(&["insert", "into"]) {
            return self.insert();
        }
        if self.take_keyword("update") {
            return self.parse_update();
        }
        if self.take_keywords(&["delete", "from"]) {
            return Ok(Statement::Delete { table: self.parse_table_name()?, filter: self.parse_filter()? });
        }
        if self.take_keyword("truncate") {
            self.take_keyword("table");
            return Ok(Statement::Delete { table: self.parse_table_name()?, filter: Vec::new() });
        }
        Err(self.syntax_error())
    }

    /// Reads the name of a table to change; ignores its schema.
    fn parse_table_name(&mut self) -> Result<String, ErrorResponse> {
        let name = self.name()?;
        if self.take_symbol(".") { self.name() } else { Ok(name) }
    }

    /// Reads the name and type of each column of a new table; ignores constraints.
    fn parse_column_definitions(&mut self) -> Result<Vec<(String, String)>, ErrorResponse> {
        const CONSTRAINTS: &[&str] =
            &["primary", "foreign", "unique", "constraint", "check", "key", "index"];
        let open = self.take_symbol("(");
        self.check_found(open)?;
        let mut columns = Vec::new();
        loop {
            let name = self.name()?;
            if !CONSTRAINTS.contains(&name.as_str()) {
                let kind = if matches!(self.peek(), Some(SqlToken::Word(_))) {
                    self.name()?
                } else {
                    String::new()
                };
                columns.push((name, kind));
            }
            self.skip_to_comma()?;
            if self.take_symbol(")") {
                break;
            }
            let more = self.take_symbol(",");
            self.check_found(more)?;
        }
        // An engine clause with settings may follow; it is ignored.
        while self.peek().is_some_and(|token| *token != SqlToken::Symbol(";")) {
            self.at += 1;
        }
        Ok(columns)
    }

    /// Skips to the next comma or closing parenthesis on this level; an error at the end of the query.
    fn skip_to_comma(&mut self) -> Result<(), ErrorResponse> {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token {
                SqlToken::Symbol("," | ")") if depth == 0 => return Ok(()),
                SqlToken::Symbol("(") => depth += 1,
                SqlToken::Symbol(")") => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        Err(self.syntax_error())
    }

    fn insert(&mut self) -> Result<Statement, ErrorResponse> {
        let table = self.parse_table_name()?;
        let named = matches!(self.peek(), Some(SqlToken::Symbol("(")));
        let columns = if named { Some(self.parse_group(Self::name)?) } else { None };
        let values = self.take_keyword("values");
        self.check_found(values)?;
        let rows = self.parse_list(|parser| parser.parse_group(Self::parse_literal))?;
        Ok(Statement::Insert { table, columns, rows })
    }

    fn parse_update(&mut self) -> Result<Statement, ErrorResponse> {
        let table = self.parse_table_name()?;
        let set = self.take_keyword("set");
        self.check_found(set)?;
        let set = self.parse_list(|parser| {
            let column = parser.name()?;
            let equals = parser.take_symbol("=");
            parser.check_found(equals)?;
            Ok((column, parser.parse_literal()?))
        })?;
        Ok(Statement::Update { table, set, filter: self.parse_filter()? })
    }

    fn parse_select(&mut self) -> Result<Select, ErrorResponse> {
        let items = self.parse_list(Self::parse_item)?;
        let from = if self.take_keyword("from") { Some(self.parse_source()?) } else { None };
        let filter = self.parse_filter()?;
        let order = if self.take_keywords(&["order", "by"]) { Some(self.parse_order()?) } else { None };
        let mut select = Select { items, from, filter, order, offset: 0, limit: None };
        loop {
            if self.take_keyword("limit") {
                select.limit = Some(self.parse_count()?);
            } else if self.take_keyword("offset") {
                select.offset = self.parse_count()?;
            } else {
                return Ok(select);
            }
        }
    }

    fn parse_count(&mut self) -> Result<usize, ErrorResponse> {
        let read = self.parse_literal()?.as_u64().and_then(|number| usize::try_from(number).ok());
        read.ok_or_else(|| ErrorResponse::bad_request("LIMIT and OFFSET take a whole number"))
    }

    fn parse_order(&mut self) -> Result<(String, bool), ErrorResponse> {
        let column = self.name()?;
        let descends = self.take_keyword("desc");
        self.take_keyword("asc");
        Ok((column, descends))
    }

    fn parse_source(&mut self) -> Result<RowSource, ErrorResponse> {
        let name = self.name()?;
        if matches!(self.peek(), Some(SqlToken::Symbol("("))) {
            return Ok(RowSource::Series(name, self.parse_group(Self::parse_literal)?));
        }
        if self.take_symbol(".") {
            return Ok(RowSource::Table { schema: Some(name), name: self.name()? });
        }
        Ok(RowSource::Table { schema: None, name })
    }

    fn parse_item(&mut self) -> Result<SelectItem, ErrorResponse> {
        if self.take_symbol("*") {
            return Ok(SelectItem::All);
        }
        let start = self.at;
        if self.take_keyword("count") && self.take_symbol("(") {
            let star = self.take_symbol("*");
            let _ = star || self.name().is_ok();
            let closed = self.take_symbol(")");
            self.check_found(closed)?;
            if self.take_keyword("as") {
                self.name()?;
            }
            return Ok(SelectItem::Count);
        }
        self.at = start;
        let (sum, heading) = self.parse_sum()?;
        let heading = if self.take_keyword("as") { self.name()? } else { heading };
        Ok(SelectItem::Sum(sum, heading))
    }

    /// Reads a sum and the heading of its column: the name of a single column or function, else `?column?`.
    fn parse_sum(&mut self) -> Result<(SumTerms, String), ErrorResponse> {
        let mut sum = Vec::new();
        let mut heading = "?column?".to_owned();
        let mut minus = false;
        loop {
            let mut product = vec![self.parse_factor()?];
            while self.take_symbol("*") {
                product.push(self.parse_factor()?);
            }
            sum.push((minus, product));
            minus = self.take_symbol("-");
            if !minus && !self.take_symbol("+") {
                break;
            }
        }
        if let [(_, product)] = sum.as_slice()
            && let [Operand::Column(name) | Operand::Call(name, _)] = product.as_slice()
        {
            heading.clone_from(name);
        }
        Ok((sum, heading))
    }

    fn parse_factor(&mut self) -> Result<Operand, ErrorResponse> {
        let start = self.at;
        if let Ok(value) = self.parse_literal() {
            return Ok(Operand::Literal(value));
        }
        self.at = start;
        let mut name = self.name()?;
        if matches!(self.peek(), Some(SqlToken::Symbol("("))) {
            return Ok(Operand::Call(name, self.parse_group(Self::parse_literal)?));
        }
        if self.take_symbol(".") {
            name = self.name()?;
        }
        // Some functions are called without parentheses.
        match name.as_str() {
            "current_user" | "current_database" | "current_timestamp" => {
                Ok(Operand::Call(name, Vec::new()))
            }
            _ => Ok(Operand::Column(name)),
        }
    }

    fn parse_filter(&mut self) -> Result<Vec<Condition>, ErrorResponse> {
        let mut tests = Vec::new();
        if !self.take_keyword("where") {
            return Ok(tests);
        }
        loop {
            tests.push(self.parse_test()?);
            if !self.take_keyword("and") {
                return Ok(tests);
            }
        }
    }

    fn parse_test(&mut self) -> Result<Condition, ErrorResponse> {
        const OPS: &[(&str, ComparisonOp)] = &[
            ("=", ComparisonOp::Equal),
            ("<>", ComparisonOp::NotEqual),
            ("!=", ComparisonOp::NotEqual),
            ("<=", ComparisonOp::LessOrEqual),
            (">=", ComparisonOp::GreaterOrEqual),
            ("<", ComparisonOp::Less),
            (">", ComparisonOp::Greater),
        ];
        let column = self.name()?;
        if self.take_keywords(&["is", "not", "null"]) {
            return Ok(Condition { column, op: ComparisonOp::NotNull, value: Value::Null });
        }
        if self.take_keywords(&["is", "null"]) {
            return Ok(Condition { column, op: ComparisonOp::Null, value: Value::Null });
        }
        let op = match OPS.iter().find(|(symbol, _)| self.take_symbol(symbol)) {
            Some((_, op)) => *op,
            None if self.take_keyword("like") => ComparisonOp::Like,
            None => return Err(self.syntax_error()),
        };
        Ok(Condition { column, op, value: self.parse_literal()? })
    }
}

fn parse_number(text: &str, negative: bool) -> Option<Value> {
    let text = if negative { format!("-{text}") } else { text.to_owned() };
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    text.parse().ok().and_then(Number::from_f64).map(Value::Number)
}

/// Returns the query that is equivalent to a `SHOW` statement.
fn select_for_show(schema: &str, name: &str, column: &str) -> Select {
    let factor = Operand::Column(column.to_owned());
    Select {
        items: vec![SelectItem::Sum(vec![(false, vec![factor])], column.to_owned())],
        from: Some(RowSource::Table { schema: Some(schema.to_owned()), name: name.to_owned() }),
        ..Select::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn arbitrary_text_is_parsed_or_rejected(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn arbitrary_token_sequences_are_parsed_or_rejected(
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
    fn deep_nesting_is_rejected_without_a_stack_overflow() {
        assert!(parse(&format!("SELECT {}", "(".repeat(60_000))).is_err());
        assert!(parse(&format!("CREATE TABLE a (b {}", "(".repeat(60_000))).is_err());
        assert!(parse(&format!("SELECT {}1", "1 + ".repeat(10_000))).is_ok());
    }
}
