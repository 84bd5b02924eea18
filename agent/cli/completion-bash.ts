/**
 * The script for bash. It needs nothing beside bash itself: words are cut at spaces, as `=` and `:` belong to ours. A last line `:0` without
 * candidates asks for paths.
 */
export const BASH_SCRIPT = `# bash completion for stelectl
__stelectl_complete() {
    local line="\${COMP_LINE:0:COMP_POINT}" out tab=$'\\t'
    local -a words
    read -ra words <<< "$line"
    if [[ "$line" == *[[:space:]] ]]; then words+=(""); fi
    COMPREPLY=()
    out=$(stelectl complete -- "\${words[@]:1}" 2>/dev/null) || return
    local directive="\${out##*:}" candidate
    while IFS= read -r candidate; do
        if [[ -n "$candidate" && "$candidate" != :* ]]; then COMPREPLY+=("\${candidate%%"$tab"*}"); fi
    done <<< "$out"
    if [[ "$directive" == 0 ]]; then compopt -o default 2>/dev/null; else compopt +o default 2>/dev/null; fi
}
complete -F __stelectl_complete stelectl
`
