# Completion of stead for bash: stead computes the candidates.
_stead() {
    local line files= cur=${COMP_WORDS[COMP_CWORD]}
    [[ $cur == '=' ]] && cur=
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == ':files' ]]; then
            files=1
        elif [[ -n $line ]]; then
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <("${COMP_WORDS[0]}" __complete "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null)
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done < <(compgen -f -- "$cur")
    fi
}
complete -F _stead stead
