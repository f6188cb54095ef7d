#compdef gputrace
# Completion of gputrace for zsh. A test compares the options with those of `gputrace COMMAND --help`.

_gputrace_plugins() {
    _alternative 'plugins:plugin:(calls hazards leaks)' 'files:file:_files -g "*.so"'
}

_gputrace_run() {
    local -a trace=(kernel memcpy memset runtime driver sync event stream graph memory nvtx compile overhead event-times api-all unified-memory torch torch-shapes nccl cuda all none)
    _arguments -s -S -A '-*' \
        {-o,--output=}'[write the trace to a file]:file:_files' \
        {-t,--trace=}'[record what the list names]:list:_values -s , what $trace' \
        '--graph=[show each node of a graph, or each launch]:how:(node graph)' \
        '--delay=[start recording so long after the start]:seconds' \
        '--duration=[stop recording after so long]:seconds' \
        '--capture-range=[record only while the program asks for it]:range:(none api cudaProfilerApi nvtx\:)' \
        '--nvtx-domains=[record NVTX of these domains only]:domains' \
        '--nvtx-exclude=[record NVTX of all domains but these]:domains' \
        '--stacks=[record the call stacks of what the list names]:list:_values -s , what launch alloc sync all python none' \
        '--nccl[record what NCCL tells a profiler plugin]' \
        '--backtrace[the same as --stacks=alloc]' \
        '--cpu=[record CPU samples and switches of threads]:list:_values -s , what samples switches' \
        '--flush-interval=[collect GPU times at this interval]:milliseconds' \
        '--children=[record other processes too]:whether:(yes no)' \
        '--ranks=[record only these ranks of a job]:list' \
        '--mpi[record MPI calls]' \
        '--wait=[end when these have ended]:for:(primary all)' \
        '--spool-dir=[store records here while the program runs]:directory:_directories' \
        '--force[move a file that is not a trace to FILE.old]' \
        '--keep-running[let the program run on if gputrace is killed]' \
        '--keep-spool[do not remove it afterwards]' \
        '--cupti=[load this libcupti]:file:_files' \
        '*--plugin=[load this library into the program]:plugin:_gputrace_plugins' \
        '--live[print progress while the program runs]' \
        '--stats[print the report afterwards]' \
        '--strict[exit with 124 if the trace is incomplete]' \
        {-q,--quiet}'[print errors only]' \
        {-v,--verbose}'[print each step]' \
        {-h,--help}'[print help]' \
        '(-)1:program:_command_names -e' \
        '*::arguments:_normal'
}

_gputrace_report() {
    # The help lists the sections.
    local -a sections=(${=$(_call_program sections gputrace report --help |
        sed -n '/--report=/,/default: all/{/default: all/d;s/.*commas://;p;}')})
    _arguments -s -S \
        {-r,--report=}'[print these sections]:sections:_values -s , section $sections' \
        {-f,--format=}'[how to print]:format:(table csv json markdown)' \
        {-n,--top=}'[rows of each section]:number' \
        {-s,--sort=}'[column to sort by]:column' \
        '--columns=[show these columns]:columns' \
        '--width=[characters of a line]:number' \
        '--color=[use colours and bars]:when:(auto always never)' \
        '--snapshot=[what was allocated at this time]:time' \
        {-u,--time-unit=}'[unit of times]:unit:(auto ns us ms s)' \
        '--names=[how to show names of kernels]:how:(pretty full short mangled)' \
        '--html=[write a page with charts]:page:_files -g "*.html"' \
        '--partial[write what a report of a job needs of this trace]' \
        '--mpi=[report on the traces in this directory of all nodes]:directory:_files -/' \
        {-o,--output=}'[the file of --partial]:part:_files -g "*.gpr"' \
        '--fail-on=[exit with status 3 if there is one of these findings]:findings: ' \
        '--by-grid[a row for each grid and block]' \
        '--by-shape[a row for each operator and its input shapes]' \
        '--from=[leave out what comes before]:time' \
        '--to=[leave out what comes after]:time' \
        '--range=[only this range]:name' \
        '--step=[only this step]:number' \
        '--process=[only this process]:pid' \
        '--gpu=[only operations of this GPU]:number' \
        '--stream=[only operations of this stream]:number' \
        '--kernel=[only kernels whose name matches]:regular expression' \
        '--thread=[only this thread and what it launched]:thread id' \
        {-h,--help}'[print help]' \
        '*:trace:_files -g "*.json(|.gz)"'
}

_gputrace_view() {
    _arguments -s -S \
        '--timeout=[end when nothing was fetched for so long]:seconds' \
        {-h,--help}'[print help]' \
        '1:trace:_files -g "*.(json|pftrace)(|.gz)"'
}

_gputrace_diff() {
    # The help of the report lists the sections.
    local -a sections=(${=$(_call_program sections gputrace report --help |
        sed -n '/--report=/,/default: all/{/default: all/d;s/.*commas://;p;}')})
    _arguments -s -S \
        '*--before=[traces of the program as it was]:trace:_files' \
        '*--after=[traces of the program as it is now]:trace:_files' \
        '*--fail-on=[exit with 3 if this grew]:condition' \
        '--any[even if it is not sure that it grew]' \
        {-r,--report=}'[compare these sections]:sections:_values -s , section $sections' \
        {-a,--all}'[show what did not change, too]' \
        {-f,--format=}'[how to print]:format:(table csv json markdown junit)' \
        {-n,--top=}'[rows of each table]:number' \
        {-u,--time-unit=}'[unit of times]:unit:(auto ns us ms s)' \
        '--names=[how to show names of kernels]:how:(full short mangled)' \
        '--by-grid[compare kernels by grid and block, too]' \
        '--html=[write a page with charts]:page:_files -g "*.html"' \
        {-h,--help}'[print help]' \
        '*:trace:_files'
}

_gputrace_recover() {
    _arguments -s -S \
        {-o,--output=}'[write the trace to a file]:file:_files' \
        '--force[move a file that is not a trace to FILE.old]' \
        '--keep[do not remove the directory]' \
        '--spool-dir=[list what is in this directory]:directory:_directories' \
        {-q,--quiet}'[print errors only]' \
        {-v,--verbose}'[print each step]' \
        {-h,--help}'[print help]' \
        '1:directory:_directories'
}

_gputrace_convert() {
    _arguments -s -S \
        '--force[replace the file that is there]' \
        '--from=[leave out what comes before]:time' \
        '--to=[leave out what comes after]:time' \
        '--range=[only the time of this range]:name' \
        '--gpu=[leave out other GPUs]:number' \
        '--process=[leave out other processes]:pid' \
        '--rank=[leave out other ranks]:rank' \
        {-q,--quiet}'[print errors only]' \
        {-v,--verbose}'[print each step]' \
        {-h,--help}'[print help]' \
        '1:trace or directory:_files' \
        '2:trace:_files -g "*.((json|pftrace|folded)(|.gz)|sqlite|db|flight)"'
}

_gputrace_cut() {
    _arguments -s -S \
        {-o,--output=}'[write the part to a file]:file:_files' \
        '--from=[leave out what comes before]:time' \
        '--to=[leave out what comes after]:time' \
        '--range=[only the time of this range]:name' \
        '--gpu=[leave out other GPUs]:number' \
        '--process=[leave out other processes]:pid' \
        '--rank=[leave out other ranks]:rank' \
        '--force[replace the file that is there]' \
        {-q,--quiet}'[print errors only]' \
        {-v,--verbose}'[print each step]' \
        {-h,--help}'[print help]' \
        '1:trace:_files -g "*.(json|pftrace)(|.gz)"'
}

_gputrace_merge() {
    _arguments -s -S \
        {-o,--output=}'[write the merged trace to a file]:file:_files -g "*.(json|pftrace)(|.gz)"' \
        '--from=[leave out what comes before]:time' \
        '--to=[leave out what comes after]:time' \
        '--range=[only the time of this range]:name' \
        '--step=[only this step of torch.profiler]:number' \
        '--force[replace the file that is there]' \
        {-q,--quiet}'[print errors only]' \
        {-v,--verbose}'[print each step]' \
        {-h,--help}'[print help]' \
        '*:trace or directory:_files'
}

_gputrace_doctor() {
    _arguments -s -S \
        '--cupti=[check this libcupti]:file:_files' \
        '--spool-dir=[check this directory]:directory:_directories' \
        {-h,--help}'[print help]'
}

_gputrace() {
    local -a commands=(
        'run:run a program and write a trace of its GPU work'
        'report:print where the time of a trace went'
        'diff:compare traces\: what changed, how sure, and what explains it'
        'view:open a trace in ui.perfetto.dev'
        'recover:write the trace of an interrupted run'
        'convert:convert a trace between formats'
        'cut:cut a part out of a trace'
        'merge:merge traces of several ranks into one'
        'doctor:check what tracing needs'
        'help:explain a command'
    )
    local line state
    _arguments -C {-h,--help}'[print help]' {-V,--version}'[print the version]' '1:command:->command' '*::argument:->argument'
    case $state in
    command) _describe command commands ;;
    argument)
        case $line[1] in
        run) _gputrace_run ;;
        report) _gputrace_report ;;
        diff) _gputrace_diff ;;
        view) _gputrace_view ;;
        recover) _gputrace_recover ;;
        convert) _gputrace_convert ;;
        cut) _gputrace_cut ;;
        merge) _gputrace_merge ;;
        doctor) _gputrace_doctor ;;
        help) _values command run report diff view recover convert cut merge doctor ;;
        esac
        ;;
    esac
}

_gputrace "$@"
