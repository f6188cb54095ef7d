# Completion of gputrace for bash: `gputrace complete` knows the words (src/cli/complete.h says what it prints).
# shellcheck shell=bash

_gputrace_compgen() { # OPTION WORD
    local found
    mapfile -t found < <(compgen "$1" -- "${2#=}")
    COMPREPLY+=("${found[@]}")
    compopt -o filenames 2>/dev/null || true
}

_gputrace() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) _gputrace_compgen -f "${COMP_WORDS[COMP_CWORD]}" ;;
        :folders) _gputrace_compgen -d "${COMP_WORDS[COMP_CWORD]}" ;;
        :commands) _gputrace_compgen -c "${COMP_WORDS[COMP_CWORD]}" ;;
        :program*) ! declare -F _command_offset >/dev/null || _command_offset $((COMP_CWORD + 1 - ${line#* })) ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null || true
    return 0
}
complete -F _gputrace gputrace
