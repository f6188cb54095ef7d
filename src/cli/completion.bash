# Completion of gputrace for bash. A test compares the options with those of `gputrace COMMAND --help`.
# shellcheck shell=bash

# Words that begin like the part of a list (a,b,c) after its last comma, each with what stands before it.
_gputrace_list() { # OPTION= VALUE WORDS
    local head='' last=${2##*,} word
    [[ $2 == *,* ]] && head=${2%,*},
    for word in $3; do
        [[ $word == "${last#-}"* ]] || continue
        [[ $last == -* ]] && word=-$word
        COMPREPLY+=("$1$head$word")
    done
}

# The sections of a report, which its help lists.
_gputrace_sections() {
    "${COMP_WORDS[0]}" report --help 2>/dev/null | sed -n '/--report=/,/default: all/{/default: all/d;s/.*commas://;p;}'
}

# The argument of an option: `--option=` or the word before in $1, what was typed of it in $2, what goes before in $3.
_gputrace_argument() {
    local trace='kernel memcpy memset runtime driver sync event stream graph memory nvtx compile overhead event-times api-all unified-memory torch torch-shapes nccl cuda all none'
    case $1 in
    --trace | -t) _gputrace_list "$3" "$2" "$trace" ;;
    --report | -r) _gputrace_list "$3" "$2" "$(_gputrace_sections)" ;;
    --children) _gputrace_list "$3" "$2" 'yes no' ;;
    --stacks) _gputrace_list "$3" "$2" 'launch alloc sync all python none' ;;
    --wait) _gputrace_list "$3" "$2" 'primary all' ;;
    --graph) _gputrace_list "$3" "$2" 'node graph' ;;
    --capture-range) _gputrace_list "$3" "$2" 'none api cudaProfilerApi nvtx:' ;;
    --color) _gputrace_list "$3" "$2" 'auto always never' ;;
    --format | -f) _gputrace_list "$3" "$2" "table csv json markdown$([ "${COMP_WORDS[1]-}" != diff ] || echo ' junit')" ;;
    --names) _gputrace_list "$3" "$2" "$([ "${COMP_WORDS[1]-}" = diff ] || echo 'pretty ')full short mangled" ;;
    --time-unit | -u) _gputrace_list "$3" "$2" 'auto ns us ms s' ;;
    --before | --after) mapfile -t COMPREPLY < <(compgen -P "$3" -f -- "$2") ;;
    --spool-dir) mapfile -t COMPREPLY < <(compgen -P "$3" -d -- "$2") ;;
    --plugin)
        mapfile -t COMPREPLY < <(
            compgen -P "$3" -W 'calls hazards leaks' -- "$2"
            compgen -P "$3" -f -X '!*.so' -- "$2"
        )
        ;;
    --output | -o | --cupti) mapfile -t COMPREPLY < <(compgen -P "$3" -f -- "$2") ;;
    *) return 1 ;;
    esac
}

_gputrace_options() { # COMMAND
    case $1 in
    run)
        echo '--output= --force --trace= --graph= --delay= --duration= --capture-range= --nvtx-domains= --nvtx-exclude=' \
            '--stacks= --nccl --backtrace --cpu= --flush-interval= --children= --ranks= --mpi --wait= --spool-dir= --keep-running --keep-spool --cupti= --plugin= --live --stats --strict --quiet --verbose --help'
        ;;
    report) echo '--report= --format= --top= --sort= --columns= --width= --color= --snapshot= --time-unit= --names= --by-grid --by-shape --html=' \
        '--from= --to= --range= --step= --process= --gpu= --stream= --kernel= --thread= --partial --output= --mpi= --fail-on= --help' ;;
    view) echo '--timeout= --help' ;;
    diff) echo '--before= --after= --fail-on= --any --report= --all --format= --top= --time-unit= --names= --by-grid --html= --help' ;;
    recover) echo '--output= --force --keep --spool-dir= --quiet --verbose --help' ;;
    convert) echo '--force --from= --to= --range= --gpu= --process= --rank= --quiet --verbose --help' ;;
    cut) echo '--output= --from= --to= --range= --gpu= --process= --rank= --force --quiet --verbose --help' ;;
    merge) echo '--output= --from= --to= --range= --step= --force --quiet --verbose --help' ;;
    doctor) echo '--cupti= --spool-dir= --help' ;;
    esac
}

# The index of the program's name among the words of `gputrace run`, or one past them.
_gputrace_program() {
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) echo $((i + 1)) && return ;;
        -o | -t | --output | --trace | --graph | --delay | --duration | --capture-range | --nvtx-domains | --nvtx-exclude | --flush-interval | --children | --wait | --spool-dir | --cupti | --plugin)
            i=$((i + 1))
            ;;
        -*) ;;
        *) break ;;
        esac
    done
    echo "$i"
}

_gputrace() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} program
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'run report diff view recover convert cut merge doctor help --help --version' -- "$word")
        [ -n "$word" ] || mapfile -t COMPREPLY < <(compgen -W 'run report diff view recover convert cut merge doctor help')
        return
    fi
    if [ "$command" = run ]; then
        program=$(_gputrace_program)
        if [ "$program" -lt "$COMP_CWORD" ]; then
            # What the program takes is the program's own completion's affair.
            declare -F _command_offset >/dev/null && _command_offset "$program"
            return
        fi
    fi
    case $word in
    --*=*) _gputrace_argument "${word%%=*}" "${word#*=}" "${word%%=*}=" && return ;;
    -*)
        mapfile -t COMPREPLY < <(compgen -W "$(_gputrace_options "$command")" -- "$word")
        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null || true
        return 0
        ;;
    esac
    _gputrace_argument "${COMP_WORDS[COMP_CWORD - 1]}" "$word" '' && return
    case $command in
    run) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
    report | diff | view | convert | cut | merge) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    recover) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    help) mapfile -t COMPREPLY < <(compgen -W 'run report diff view recover convert cut merge doctor' -- "$word") ;;
    esac
}

# Bash splits words at `=`, which _gputrace does not expect: the words are joined again here.
_gputrace_split() {
    local words=() i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if ((i > 0)) && [[ ${COMP_WORDS[i]} == '=' || ${COMP_WORDS[i - 1]} == '=' ]] && [[ ${words[-1]} == --* ]]; then
            words[-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
        fi
    done
    local split=0
    [[ ${words[-1]} == --*=* && ${COMP_WORDS[COMP_CWORD]} != --*=* ]] && split=1
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    _gputrace
    # Only what comes after `=` stands on the command line as the word to replace.
    ((split)) && COMPREPLY=("${COMPREPLY[@]#*=}")
    return 0
}
complete -F _gputrace_split gputrace
