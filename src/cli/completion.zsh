#compdef gputrace
# Completion of gputrace for zsh: `gputrace complete` knows the words (src/cli/complete.h says what it prints).

_gputrace() {
    local line
    local -a plain open
    for line in "${(@f)$(_call_program words $words[1] complete "${(@q)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
        :files) compset -P '--*='; _files ;;
        :folders) compset -P '--*='; _files -/ ;;
        :commands) _command_names -e ;;
        :program*)
            words=("${(@)words[CURRENT + 1 - ${line#* },-1]}") CURRENT=${line#* }
            _normal
            ;;
        *=$'\t'*) open+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        *$'\t'*) plain+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    _describe -o word plain -- open -S ''
}

_gputrace "$@"
