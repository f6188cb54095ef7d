# gputrace itself: commands, help, version; and the texts that have to agree with it.

load common

commands=(run report diff view recover convert cut merge doctor ps start stop)

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

@test "--version prints the version of the Makefile, and between releases the commit" {
    run -0 "$gputrace" --version
    local version
    version=$(sed -n 's/^VERSION := //p' "$root/Makefile")
    assert_regex "$output" "^gputrace ${version//./[.]}([.]dev[0-9]+[+]g[0-9a-f]{9})?\$"
    grep -q "version = \"$version\"" "$root/src/packaging/conda/meta.yaml"
    grep -q "version(\"$version\")" "$root/src/packaging/spack/package.py"
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

@test "help of each command has three examples, with options that it has" {
    for command in "${commands[@]}"; do
        "$gputrace" "$command" --help | sed -n '/^examples:$/,/^$/{//d;p}' >examples
        [ "$(grep -cE "^  gputrace $command( |$)" examples)" -eq 3 ]
        [ "$(wc -l <examples)" -eq 3 ]
        grep -oE ' --?[a-z][a-z-]*' examples | grep -vx ' --nproc-per-node' | tr -d ' ' | sort -u >used
        comm -23 used <(help_options "$command" | sort) >unknown
        run -1 grep . unknown
    done
}

@test "help and man page of convert have every format" {
    sed -nE 's/^ *X\("(\.[a-z.]+)", .*/\1/p' "$root/src/trace/output.h" >in-table
    [ "$(wc -l <in-table)" -gt 8 ]
    "$gputrace" convert --help >in-help
    for format in $(cat in-table); do
        grep -qE "^ {28}$format: [A-Za-z]" in-help
        sed -n 's/^\.It Pa //p' "$root/man/gputrace-convert.1" | tr -d ' ' | tr , '\n' | grep -qxF "$format"
    done
}

@test "gputrace(1) refers to every man page, and each to pages that exist" {
    (cd "$root/man" && find . -name '*.[1-8]' ! -name gputrace.1) | sed -E 's|^\./(.*)\.(.)$|\1 \2|' | sort >pages
    sed -n '/^\.Sh SEE ALSO/,$s/^\.Xr \([^ ]* [1-8]\).*/\1/p' "$root/man/gputrace.1" | sort | diff pages -
    echo 'gputrace 1' >>pages
    sed -nE 's/^\.Xr (gputrace[^ ]* [1-8]).*/\1/p' "$root"/man/*.[1-8] | sort -u >named
    comm -23 named <(sort pages) >unknown
    run -1 grep . unknown
}

# The words of --trace that the table has with DEFAULT, 0 or 1 (on).
table_words() {
    sed -nE "/^#define TRACE_BITS/,/^$/s/^ *X\([A-Z_]+, \"([a-z-]+)\", $1,.*/\1/p" "$root/src/common/record_kinds.h"
}

# These, and the words for several.
trace_words() {
    table_words '[01]'
    printf '%s\n' cuda all none
}

@test "help and man page know every word of --trace" {
    trace_words | sort >in-table
    [ "$(wc -l <in-table)" -gt 17 ]
    "$gputrace" run --help | sed -n '/--trace=/,/-NAME/{/--trace=/d;/-NAME/d;s/([^)]*)//g;p}' | tr -s ' ,;' '\n' | grep . | sort |
        diff in-table -
    sed -n '/^\.It Fl t Ar list/,/^\.El/s/^\.It Cm //p' "$root/man/gputrace-run.1" | sort | diff in-table -
}

@test "the man page names what --trace=all leaves out, apart from queries" {
    sed -n '/^all of these except/,/^\.It/s/^\.Cm \([a-z-]*\).*/\1/p' "$root/man/gputrace-run.1" |
        diff <(table_words 0 | grep -vx api-all) -
}

# What bash offers for the last of the words, which it splits at "=".
bash_offers() {
    # shellcheck source=src/cli/completion.bash
    source "$root/src/cli/completion.bash"
    COMP_WORDS=("$gputrace" "$@") COMP_CWORD=$# COMPREPLY=()
    _gputrace
    printf '%s\n' "${COMPREPLY[@]}"
}

# What fish offers for a command line.
fish_offers() {
    PATH=$build:$PATH HOME=$PWD fish --no-config -c \
        "source '$root/src/cli/completion.fish'; complete -C '$1'" | cut -f 1
}

@test "-r list prints the sections and stands alone, and no word beside it is ignored" {
    for command in report diff; do
        "$gputrace" "$command" -r list | grep -q '^kernels  *Which kernels take GPU time?$'
        for list in kernels,list list,kernels list,; do
            run -2 "$gputrace" "$command" -r "$list" -o file
            assert_output "gputrace: --report: 'list' prints the sections, and stands alone: use -r list"
        done
    done
}

@test "completion knows every command and every option" {
    assert_equal "$(bash_offers '' | sort)" "$(printf '%s\n' "${commands[@]}" help | sort)"
    for command in "${commands[@]}"; do
        help_options "$command" | grep '^--' >in-help
        bash_offers "$command" -- | sed 's/=$//' | sort | diff in-help -
    done
    assert_equal "$(bash_offers run --tr)" '--trace='
    assert_equal "$(bash_offers help con)" convert
}

@test "completion knows the words of a list, and those of an option that is one of some" {
    assert_equal "$(bash_offers run --trace = kernel,mem | paste -sd ' ')" 'kernel,memcpy kernel,memset kernel,memory'
    assert_equal "$(bash_offers run --trace = '' | sort)" "$(trace_words | sort)"
    assert_equal "$(bash_offers run -t all,-me | paste -sd ' ')" 'all,-memcpy all,-memset all,-memory'
    assert_equal "$(bash_offers run --capture-range = n | paste -sd ' ')" 'none nvtx:'
    assert_equal "$(bash_offers run --plugin = h)" hazards
    assert_equal "$(bash_offers report --report = '' | paste -sd ' ')" "$(sections | paste -sd ' ') all list"
    while read -r command option; do
        bash_offers "$command" "--$option" = >offered
        [ "$(wc -l <offered)" -gt 1 ]
        "$gputrace" "$command" --help | sed -n "/ --$option=/,/^ *\(-., \)\? *--/{/ --$option=/p;/--/!p}" >in-help
        while read -r word; do
            grep -qw -- "${word%:}" in-help || fail "help of --$option does not name $word"
        done <offered
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

@test "completion knows ids of findings, columns, and what diff compares" {
    assert_equal "$(bash_offers report --fail-on = warm-up,page)" warm-up,pageable-copies
    run -2 "$gputrace" report --fail-on=nothing trace.json
    bash_offers report --fail-on = '' >ids
    assert_output --partial "there are $(paste -sd , ids | sed 's/,/, /g')"
    bash_offers report --sort = '' >columns
    for column in total calls avg max name; do
        [ "$(grep -cx "$column" columns)" -eq 1 ]
    done
    assert_equal "$(uniq -d <(sort columns))" ''
    diff columns <(bash_offers report --columns = '')
    assert_equal "$(bash_offers report --columns = name,peak_)" name,peak_at
    assert_equal "$(bash_offers diff --fail-on = ker)" kernel
    for section in $(bash_offers diff --report = '' | grep -v '^list$'); do
        run -1 "$gputrace" diff -r "$section" missing.json missing.json
    done
    assert_equal "$(bash_offers diff --report = overv)" ''
    assert_equal "$(bash_offers run --cpu = samples,sw)" samples,switches
}

@test "completion leaves files and the program's own words to the shell" {
    touch trace.json
    mkdir traces
    assert_equal "$(bash_offers report tr | sort | paste -sd ' ')" 'trace.json traces'
    assert_equal "$(bash_offers report -o tr | sort | paste -sd ' ')" 'trace.json traces'
    assert_equal "$(bash_offers report --html = tr | sort | paste -sd ' ')" 'trace.json traces'
    assert_equal "$(bash_offers recover tr)" traces
    bash_offers run mkd | grep -qx mkdir
    _command_offset() { COMPREPLY=("from word $1"); }
    assert_equal "$(bash_offers run --trace = all -o tr ls -)" 'from word 7'
    assert_equal "$(bash_offers run -- ls '')" 'from word 3'
}

@test "zsh and fish ask in the same way" {
    zsh -n "$root/src/cli/completion.zsh"
    zsh -f -c "path=('$build' \$path) words=(gputrace run --st) CURRENT=3
        _call_program() { shift; eval \"\$*\"; }
        _describe() { print -l -- \$plain \$open; }
        source '$root/src/cli/completion.zsh'" >offered
    assert_equal "$(cut -d : -f 1 offered | sort | paste -sd ' ')" '--stacks= --stats --strict'
    touch trace.json
    assert_equal "$(fish_offers 'gputrace run --st' | sort | paste -sd ' ')" '--stacks= --stats --strict'
    assert_equal "$(fish_offers 'gputrace run --trace=all,-api')" '--trace=all,-api-all'
    assert_equal "$(fish_offers 'gputrace report --output=tr')" '--output=trace.json'
    assert_equal "$(fish_offers 'gputrace report tr')" trace.json
    assert_equal "$(fish_offers 'gputrace report --fail-on=warm-up,page')" '--fail-on=warm-up,pageable-copies'
    fish_offers 'gputrace run --trace all mkdi' | grep -qx mkdir
    assert_equal "$(fish_offers 'gputrace run --trace=all ls trac')" trace.json
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
    sections >in-table
    [ "$(wc -l <in-table)" -gt 20 ]
    "$gputrace" report --help >in-help
    for section in $(cat in-table); do
        grep -qxF -- "$(printf '%28s' '')$section: $("$gputrace" report -r list | sed -n "s/^$section  *//p")" in-help
        grep -A1 -E "^\.It Cm $section\$" "$root/man/gputrace-report.1" >in-man
        grep -qxF "$("$gputrace" report -r list | sed -n "s/^$section  *//p")" in-man
    done
    plugins >in-build
    [ -s in-build ]
    bash_offers run --plugin = '' | head -n "$(wc -l <in-build)" | sort | diff in-build -
    for plugin in $(cat in-build); do
        grep -qx "\.It Cm $plugin" "$root/man/gputrace-run.1"
        "$gputrace" run --help | grep -qw "$plugin"
    done
}
