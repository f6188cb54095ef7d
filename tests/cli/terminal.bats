# The terminal and signals: what a person sees of a program is the same with and without gputrace. tests/cli/terminal has
# the scenarios.

load common

before_each() {
    command -v python3 >/dev/null || skip "needs Python"
    terminal=$BATS_TEST_DIRNAME/terminal
    unset BASH_ENV ENV
}

# Each scenario of a name that begins so, as without gputrace.
same() { # PREFIX...
    local prefix name
    for prefix in "$@"; do
        for name in $("$terminal" --list | grep "^$prefix"); do
            "$terminal" "$name" >without || fail "$name: $(cat without)"
            "$terminal" "$name" "$gputrace" run -q -o trace.json >with || fail "$name: $(cat with)"
            diff -u without with || fail "$name differs"
            jq -e .traceEvents trace.json >/dev/null
            rm trace.json*
        done
    done
}

@test "Ctrl-C and Ctrl-\\ reach the program once, also one with a process group or children" {
    same interrupt quit
}

@test "a program reads the terminal and sets its modes, also in a process group of its own and in pipelines" {
    same read raw
}

@test "Ctrl-Z, jobs, fg and bg, also with children and in pipelines" {
    same stop
}

@test "a job in the background is stopped when it reads or writes, and gets kill %1" {
    same background
}

@test "a new window size, signals to the job and to the program's own group" {
    same size own-group job-signals
}

@test "under a script, nohup, and as an interactive shell" {
    same script nohup shell
}

@test "the program that leads the terminal's session, as under ssh -t, tmux and docker run -t" {
    same direct
}

@test "a terminal that goes away hangs up the program" {
    same hangup
}

@test "without a terminal: a signal to the group arrives once, one to gputrace alone is passed on, as leader and as member" {
    same session group member
}
