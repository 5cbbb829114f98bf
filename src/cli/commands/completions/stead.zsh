#compdef stead
# Completion of stead for zsh: stead computes the candidates.
_stead() {
    local line files word
    local -a rows
    for line in "${(@f)$("${words[1]}" __complete $((CURRENT - 1)) "${words[@]}" 2>/dev/null)}"; do
        if [[ $line == ':files' ]]; then
            files=1
        elif [[ -n $line ]]; then
            word=${line%%$'\t'*}
            rows+=("${word//:/\\:}:${line#*$'\t'}")
        fi
    done
    (( $#rows )) && _describe -t words stead rows
    [[ -n $files ]] && _files
    return 0
}
if [[ $funcstack[1] == _stead ]]; then
    _stead "$@"
else
    compdef _stead stead
fi
