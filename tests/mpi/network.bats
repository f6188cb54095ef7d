# Two ranks on two "hosts", network namespaces whose cable delays each packet: what the network takes shows in the traces.

load common

# Two namespaces, and the programs.
make_hosts() {
    use_mpi openmpi
    [ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
    [ -c /dev/net/tun ] || skip "there is no /dev/net/tun"
    one=gt$$a two=gt$$b
    ip netns add $one 2>said || skip "no network namespaces: $(cat said)"
    ip netns add $two
    cc -D_GNU_SOURCE -O2 -o net_delay "$BATS_TEST_DIRNAME/programs/net_delay.c"
    mpicc -o rounds "$BATS_TEST_DIRNAME/programs/rounds.c"
}

teardown() {
    [ -z "${cable-}" ] || kill "$cable" || true
    [ -z "${one-}" ] || ip netns del $one
    [ -z "${two-}" ] || ip netns del $two
    [ -z "${short-}" ] || rm -rf "$short"
}

# A cable that delays by $1 ms between 10.87.0.1 and 10.87.0.2.
join() {
    ./net_delay "$1" $one $two >cable 2>&1 3>&- &
    cable=$!
    eventually grep -q . cable
    grep -q ready cable || skip "there is no TUN device: $(cat cable)"
    local number=1 namespace
    for namespace in $one $two; do
        ip -n $namespace addr add 10.87.0.$number/24 dev delay0
        ip -n $namespace link set delay0 up
        ip -n $namespace link set lo up
        number=2
    done
}

# Open MPI starts ranks by a remote shell; here it is this, which enters a namespace. Each has a host name of its own.
on_both() { # COMMAND...
    script agent 'host=$1' 'shift' "[ \$host = 10.87.0.1 ] && namespace=$one || namespace=$two" \
        'exec ip netns exec $namespace unshare --uts sh -c "hostname $namespace; $*"'
    ip netns exec $one unshare --uts sh -c "hostname $one; exec \"\$@\"" sh \
        mpirun --mca plm_rsh_agent "$PWD/agent" -H 10.87.0.1,10.87.0.2 -n 2 --map-by node --mca btl tcp,self \
        --mca btl_tcp_if_include delay0 --mca oob_tcp_if_include delay0 "$@"
}

# Of the collective operations NAMES (as jq has it) in both traces, for each its two slices' start and end, in us. The
# start that a trace counts from is its own.
collective_operations() { # NAMES
    jq -s '(map(.baseTimeNanoseconds) | min) as $base
        | [.[] | ((.baseTimeNanoseconds - $base) / 1000) as $later
            | [.traceEvents[] | select(.ph == "X") | select(.name | IN('"$1"'))
                | {start: (.ts + $later), end: (.ts + $later + .dur)}]]
        | transpose' rank.0.json rank.1.json
}

# The least time in us that the rank which entered first was in a collective operation: of all of them, by its own clock.
least_round() {
    collective_operations '"MPI_Barrier", "MPI_Allreduce"' | jq 'map(map(.end - .start) | max) | min | floor'
}

# Whether each operation lies in the trace of its rank within the time that the program saw it take: "rank.N.seen" has for
# each, in us, how long it took with what is before and behind it.
as_long_as_seen() {
    local rank
    for rank in 0 1; do
        jq -e --slurpfile seen rank.$rank.seen '[.traceEvents[] | select(.ph == "X" and (.name | IN("MPI_Barrier", "MPI_Allreduce")))]
            | sort_by(.ts) | map(.dur) as $dur | ($seen | length) == ($dur | length) and all(range($dur | length); $dur[.] <= $seen[.])' rank.$rank.json
    done
}

@test "collective operations of two hosts take as long as the network delays, and no rank leaves before the last enters" {
    make_hosts
    join 20
    run -0 on_both "$gputrace" run -q --mpi -o "$PWD/rank.%r.json" "$PWD/rounds" 10
    assert_equal "$(jq -r .gputrace.processes[0].host rank.0.json)" $one
    assert_equal "$(jq -r .gputrace.processes[0].host rank.1.json)" $two
    [ "$(least_round)" -ge 20000 ]
    as_long_as_seen
    collective_operations '"MPI_Barrier"' |
        jq -e 'length == 10 and all(length == 2 and (map(.end) | min) >= (map(.start) | max))'
}

@test "the report finds that both hosts have one clock, as well as the delay lets it" {
    make_hosts
    join 20
    run -0 on_both "$gputrace" run -q --mpi -o "$PWD/rank.%r.json" "$PWD/rounds" 30
    "$gputrace" report --format json -r overview rank.0.json rank.1.json >report
    jq -re '.overview[] | select(.name == "Clock") | .value' report >clock
    # "clock of ...: 27.4 us ahead of that of ..., drift ...; corrected, ± 15.032 ms (60 operations)"
    sed -nE 's/.*: ([0-9.]+) (us|ms) .*± ([0-9.]+) (us|ms) .*/\1 \2 \3 \4/p' clock | awk '
        { offset = $1 * ($2 == "ms" ? 1e3 : 1); uncertainty = $3 * ($4 == "ms" ? 1e3 : 1) }
        END { exit NR != 1 || offset > uncertainty || uncertainty < 10000 }'
}
