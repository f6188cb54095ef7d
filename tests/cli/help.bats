# gputrace itself: commands, help, version; and the texts that have to agree with it.

load common

commands=(run report diff view recover convert cut merge doctor)

# Options as --help lists them, one a line: "--output=FILE", "-o".
help_options() { # COMMAND
    "$gputrace" "$1" --help | sed -nE 's/^  (-(.),|   )? *(--[a-z-]+).*/-\2 \3/p' | tr ' ' '\n' | grep -vx -- '-' | sort
}

# Options of a man page's list, as they stand after .It.
man_options() { # COMMAND
    grep '^\.It Fl ' "$root/man/gputrace-$1.1" | sed 's/ Ns = Ns Ar [a-z]*//g' | tr ',' '\n' |
        sed -nE 's/^(\.It)? *Fl Fl ([a-z-]+).*/--\2/p; s/^(\.It)? *Fl ([A-Za-z])( .*)?$/-\2/p' | sort
}

@test "--help lists every command with its summary" {
    run -0 "$gputrace" --help
    for command in "${commands[@]}"; do
        assert_line --regexp "^  $command +[A-Z]"
    done
    run -0 "$gputrace" -h
    run -0 "$gputrace" help
}

@test "help COMMAND is COMMAND --help" {
    for command in "${commands[@]}"; do
        assert_equal "$("$gputrace" help "$command")" "$("$gputrace" "$command" --help)"
        assert_equal "$("$gputrace" "$command" -h)" "$("$gputrace" "$command" --help)"
    done
    run -2 "$gputrace" help nothing
}

@test "--version prints the version of the Makefile" {
    run -0 "$gputrace" --version
    assert_output "gputrace $(sed -n 's/^VERSION := //p' "$root/Makefile")"
}

@test "no command prints the usage to stderr" {
    run --separate-stderr -2 "$gputrace"
    assert_equal "$output" ''
    [[ $stderr = usage:* ]]
}

@test "an unknown command gets a suggestion" {
    run -2 "$gputrace" rn
    assert_output "gputrace: no command 'rn': did you mean 'gputrace run'?"
    run -2 "$gputrace" ./app
    assert_output --partial "'gputrace run ./app'"
    run -2 "$gputrace" --versoin
    assert_output --partial "no option '--versoin'"
}

@test "what other tools call a command, and a trace in its place, get a suggestion" {
    run -2 "$gputrace" record ./a -x
    assert_output "gputrace: no command 'record': did you mean 'gputrace run ./a -x'?"
    run -2 "$gputrace" stats t.json
    assert_output "gputrace: no command 'stats': did you mean 'gputrace report t.json'?"
    run -2 "$gputrace" analyze
    assert_output "gputrace: no command 'analyze': did you mean 'gputrace report'?"
    run -2 "$gputrace" trace.json
    assert_output "gputrace: no command 'trace.json': did you mean 'gputrace report trace.json'?"
    run -2 "$gputrace" trace.pftrace -r kernels
    assert_output "gputrace: no command 'trace.pftrace': did you mean 'gputrace report trace.pftrace -r kernels'?"
    echo '[]' >recorded
    run -2 "$gputrace" ./recorded
    assert_output --partial "did you mean 'gputrace report ./recorded'?"
    chmod +x recorded
    run -2 "$gputrace" ./recorded
    assert_output --partial "use 'gputrace run ./recorded' to trace a program"
}

@test "an error of standard output is reported" {
    run -2 sh -c "'$gputrace' --help >/dev/full"
    assert_output --partial 'cannot write to standard output: No space left on device'
    run -2 sh -c "'$gputrace' --version >&-"
    assert_output --partial 'cannot write to standard output'
}

@test "help and man page of each command name the same options" {
    for command in "${commands[@]}"; do
        help_options "$command" >in-help
        man_options "$command" >in-man
        [ -s in-help ]
        diff in-help in-man
    done
}

# The words of --trace, as the table has them, and those for several.
trace_words() {
    sed -nE '/^#define TRACE_BITS/,/^$/s/^ *X\([A-Z_]+, "([a-z-]+)", [01],.*/\1/p' "$root/src/common/settings.h"
    printf '%s\n' cuda all none
}

@test "help, man page and completion know every word of --trace" {
    # shellcheck source=src/cli/completion.bash
    source "$root/src/cli/completion.bash"
    trace_words | sort >in-table
    [ "$(wc -l <in-table)" -gt 17 ]
    "$gputrace" run --help | sed -n '/--trace=/,/-NAME/{/--trace=/d;/-NAME/d;s/([^)]*)//g;p}' | tr -s ' ,;' '\n' | grep . | sort |
        diff in-table -
    sed -n '/^\.It Fl t Ar list/,/^\.El/s/^\.It Cm //p' "$root/man/gputrace-run.1" | sort | diff in-table -
    _gputrace_argument --trace '' ''
    printf '%s\n' "${COMPREPLY[@]}" | sort | diff in-table -
    sed -n 's/.*local -a trace=(\(.*\))/\1/p' "$root/src/cli/completion.zsh" | tr ' ' '\n' | sort | diff in-table -
}

@test "bash completion knows every command and every option" {
    # shellcheck source=src/cli/completion.bash
    source "$root/src/cli/completion.bash"
    complete_words() {
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _gputrace
        printf '%s\n' "${COMPREPLY[@]}" | sed 's/[= ]*$//' | sort
    }
    assert_equal "$(complete_words gputrace '')" "$(printf '%s\n' "${commands[@]}" help | sort)"
    for command in "${commands[@]}"; do
        help_options "$command" | grep '^--' >in-help
        complete_words gputrace "$command" -- >in-completion
        diff in-help in-completion
    done
}

@test "bash completion knows the words of --trace" {
    # shellcheck source=src/cli/completion.bash
    source "$root/src/cli/completion.bash"
    COMP_WORDS=(gputrace run --trace=kernel,mem) COMP_CWORD=2 COMPREPLY=()
    _gputrace
    assert_equal "${COMPREPLY[*]}" '--trace=kernel,memcpy --trace=kernel,memset --trace=kernel,memory'
}

@test "help, bash and zsh name the same words for an option that is one of some" {
    # shellcheck source=src/cli/completion.bash
    source "$root/src/cli/completion.bash"
    local command option word
    while read -r command option; do
        COMP_WORDS=(gputrace "$command") COMPREPLY=()
        _gputrace_argument "--$option" '' ''
        printf '%s\n' "${COMPREPLY[@]}" | sort >in-bash
        [ -s in-bash ]
        sed -n "/^_gputrace_$command()/,/^}/p" "$root/src/cli/completion.zsh" | grep -- "--$option=" |
            sed 's/.*:(\(.*\)).*/\1/; s/\\:/:/' | tr ' ' '\n' | sort | diff in-bash -
        "$gputrace" "$command" --help | sed -n "/ --$option=/,/^ *\(-., \)\? *--/{/ --$option=/p;/--/!p}" >in-help
        while read -r word; do
            grep -qw -- "${word%:}" in-help || fail "help of --$option does not name $word"
        done <in-bash
    done <<'END'
run graph
run children
run wait
run capture-range
report color
report format
report names
report time-unit
diff format
diff names
diff time-unit
END
}

# The words of the report's sections, as the table has them.
sections() {
    sed -nE '/^#define REPORT_SECTIONS/,/^$/s/^ *X\([A-Z_]+, [a-z_]+, "([a-z-]+)",.*/\1/p' "$root/src/analysis/base/options.h"
}

# The plugins that are installed.
plugins() {
    find "$build/samples/plugins" -name '*.so' ! -name empty.so -printf '%f\n' | sed 's/\.so$//' | sort
}

@test "help, man page and completion know every section of the report and every plugin" {
    # shellcheck source=src/cli/completion.bash
    source "$root/src/cli/completion.bash"
    sections >in-table
    [ "$(wc -l <in-table)" -gt 20 ]
    "$gputrace" report --help | sed -n '/--report=/,/default: all/p' | grep -v 'default: all' |
        sed 's/.*commas://' | grep -oE '[a-z][a-z-]+' | grep -vE '^(report)$' >in-help || true
    for section in $(cat in-table); do
        grep -qx -- "$section" in-help
        grep -qE "^\.It Cm $section\$" "$root/man/gputrace-report.1"
    done
    COMP_WORDS=("$gputrace") COMPREPLY=()
    _gputrace_argument --report '' ''
    diff <(cat in-table && echo all) <(printf '%s\n' "${COMPREPLY[@]}")
    # zsh asks in the same way
    for script in bash zsh; do
        grep -oE "sed -n '[^']*commas[^']*'" "$root/src/cli/completion.$script"
    done | sort -u >in-completions
    [ "$(wc -l <in-completions)" -eq 1 ]
    plugins >in-build
    [ -s in-build ]
    COMPREPLY=()
    _gputrace_argument --plugin '' ''
    diff in-build <(printf '%s\n' "${COMPREPLY[@]}" | sort)
    sed -n "s/.*'plugins:plugin:(\([a-z ]*\))'.*/\1/p" "$root/src/cli/completion.zsh" |
        tr ' ' '\n' | sort | diff in-build -
    for plugin in $(cat in-build); do
        grep -qx "\.It Cm $plugin" "$root/man/gputrace-run.1"
        "$gputrace" run --help | grep -qw "$plugin"
    done
}

@test "zsh completion knows every option" {
    for command in "${commands[@]}"; do
        help_options "$command" >in-help
        sed -n "/^_gputrace_$command()/,/^}/p" "$root/src/cli/completion.zsh" |
            grep -oE "^ +(\{[^}]*\}|'\*?--[a-z-]+)" | grep -oE -- '--?[a-zA-Z][a-z-]*' | sort -u >in-completion
        diff in-help in-completion
    done
    command -v zsh >/dev/null || skip "syntax not checked: there is no zsh here"
    zsh -n "$root/src/cli/completion.zsh"
}
