# The findings of gputrace report about launches, idle GPUs, kernels and steps: planted programs and their twins, and
# times of small traces computed by hand.

load findings

# Of the findings of small.json: text, advice, place.
text() {
    "$gputrace" report -r findings --format=json small.json | jq -r '.findings[] | "\(.finding) / \(.advice) / \(.where)"'
}

@test "kernels that leave multiprocessors empty" {
    planted kernels tiny tiny-grids
    planted kernels tail tail-waves
    planted kernels occupancy low-occupancy
}

@test "kernels of communication alone, and products without tensor cores" {
    planted kernels communication exposed-communication
    planted kernels products float32-matmul
}

@test "short kernels that are launched one by one" {
    planted launches bound launch-bound
    planted launches repeated launch-bound
    recorded launches-repeated planted.json
    run -0 ids planted.json
    assert_line --index 1 repeated-kernels
}

@test "short kernels that the GPU waits for one by one claim the time of launch-bound, which is gained once" {
    run found 'range(400) | launched(13; 20 * .; 20 * . + 10; 5; .)'
    assert_output 'launch-bound 5985000 5586000 399
repeated-kernels 5586000 null 400'
    run "$gputrace" report -r findings --width=300 small.json
    assert_output --partial 'the same time as 1)'
}

@test "a GPU that is idle while the host works or sleeps" {
    planted launches host host-work
    planted launches gap gpu-gaps
    planted launches low low-use
}

@test "a slow step, steps that warm up, and batches that are loaded when they are needed" {
    planted launches step slow-step
    planted launches warmup warm-up
    planted launches loading data-loading
}

# --- small traces: times are in us ---

@test "launch-bound: the GPU is idle in brief gaps between late launches" {
    # Between two kernels the host is outside CUDA for 50 us, and a launch takes 10 us.
    local late='range($count) | launched(13; 100 * .; 100 * . + 10; 40; .)'
    run found "100 as \$count | $late"
    assert_output 'launch-bound 5940000 5841000 99'
    run found "80 as \$count | $late, launched(13; 10000; 10010; 12000; 100)" # 4.8 ms of 22
    refute_output
    # Of a short run they are more: one step of training, say.
    run found "21 as \$count | $late"
    assert_output 'launch-bound 1200000 1180000 20'
    run found "20 as \$count | $late"
    refute_output
    run found "21 as \$count | $late, launched(13; 2200; 2210; 3000; 100)" # 23 % of the run
    refute_output
    run found 'range(100) | launched(13; 5 * .; 1000 + 100 * .; 40; .)'
    refute_output
    # 210 us in each gap is not brief, and what the host did there is another finding.
    run found 'range(100) | launched(13; 260 * .; 260 * . + 10; 40; .)'
    assert_output 'host-work 20790000 20790000 99'
}

@test "launch-bound: GPUs work at the same time, and the place is a later gap of the worst" {
    run found 'range(100) | . as $i | (0, 1) as $gpu | launched(13; 100 * $i; 100 * $i + 10; 40 - 10 * $gpu; $i * 2 + $gpu)
        | .args.device = $gpu | if .cat == "cuda_runtime" then .tid = $gpu + 1 else . end'
    assert_output 'launch-bound 6930000 6831000 99'
    # The gaps of the second half are longer; it is in a range.
    run found '(range(60) | launched(13; 100 * .; 100 * . + 10; 60; .)), (range(60) | launched(13; 6000 + 200 * .; 6010 + 200 * .; 40; 60 + .)),
        range("forward"; 5990; 20000)'
    assert_line --regexp '^launch-bound '
    run "$gputrace" report -r findings --format=json small.json
    [ "$(jq -r '.findings[0] | "\(.gpu) \(.stream) \(.range)"' <<<"$output")" = '0 13 forward' ]
    [ "$(jq -r '.findings[0].start_ns > 6000000' <<<"$output")" = true ]
}

@test "launch-bound: the place is after the warm-up, though the GPU waited longer for kernels in it" {
    found '(range(2) | range("step \(. + 1)"; 300000 * .; 299000)), (range(8) | range("step \(. + 3)"; 600000 + 10000 * .; 9900)),
        (range(5900) | launched(13; 100 * .; 100 * . + 10; 40; .) | if .cat == "kernel" then .name = "tuned" else . end),
        (range(8) as $step | range(90) | launched(13; 600000 + 10000 * $step + 100 * .; 600010 + 10000 * $step + 100 * .; 40; 6000 + 90 * $step + .))'
    run "$gputrace" report -r findings --format=json small.json
    [ "$(jq -r '.findings[] | select(.id == "launch-bound").start_ns > 600000000' <<<"$output")" = true ]
    run text
    assert_output --partial 'it is idle before 720 of 720 operations, 59.4 µs on average, and an operation takes 40 µs on average'
}

@test "warm-up: steps become as fast as usual, and rules about idle GPUs look at the rest" {
    # Two slow steps of 300 ms, and eight of 10 ms; nothing but kernels in steps.
    local steps='(range($slow) | range("step \(. + 1)"; 300000 * .; 299000)),
        (range($slow; 10) | range("step \(. + 1)"; 300000 * $slow + 10000 * (. - $slow); 9900)),
        (range($slow) | . as $step | range(4) | launched(13; 300000 * $step + 75000 * .; 300000 * $step + 75000 * . + 10; 100; 10 * $step + .)),
        (range($slow; 10) | . as $step | range(4)
         | (300000 * $slow + 10000 * ($step - $slow) + 2400 * .) as $at | launched(13; $at; $at + 10; $long; 10 * $step + .))'
    run found "2 as \$slow | 2300 as \$long | $steps"
    assert_output 'warm-up 580000000 null 2' # less two usual ones
    run text
    assert_output --partial 'The program takes 600 ms until its steps are as fast as usual, 10 ms, from step 3 of 10 on (580 ms, 85 % of the run) / To see what its steps consist of, look at a later one: gputrace report --step=7.'
    # Gaps of the other steps are found, though they are little of the whole.
    run found "2 as \$slow | 1000 as \$long | $steps"
    assert_line 'warm-up 580000000 null 2'
    assert_line --regexp '^host-work '
    # Less than a tenth of the run, or less than 50 ms.
    run found "1 as \$slow | 2300 as \$long | $steps, (range(400) | launched(13; 390000 + 10000 * .; 390010 + 10000 * .; 9900; 200 + .))"
    refute_output --partial warm-up
    # Without slow steps there is nothing to warm up.
    run found "0 as \$slow | 2300 as \$long | $steps"
    refute_output
}

@test "a thread without ranges works for the range of the main thread" {
    run found '(range(100) | launched(13; 100 * .; 100 * . + 10; 40; .) | if .cat == "cuda_runtime" then .tid = 2 else . end),
        range("backward"; 0; 20000)'
    assert_line --regexp '^launch-bound '
    run "$gputrace" report -r findings --format=json small.json
    [ "$(jq -r '.findings[0].range' <<<"$output")" = backward ]
}

@test "host-work: long gaps from ten on" {
    local long='range($count) | launched(13; 2000 * .; 2000 * . + 10; 490; .)'
    # From the end of a kernel to the next launch.
    run found "11 as \$count | $long, range(\"loading\"; 0; 30000)"
    assert_output 'host-work 15000000 15000000 10'
    run text
    assert_output --partial 'mostly in the range loading'
    assert_output --regexp '/ range loading, at '
    run found "10 as \$count | $long"
    refute_output
    # The GPU is busy 95 % of the time.
    run found 'range(20) | launched(13; 2000 * .; 2000 * . + 10; 1800; .)'
    refute_output
}

@test "gpu-gaps: half a second in which nothing runs" {
    run found '600000 as $at | launched(13; 0; 10; 50; 1), launched(13; $at; $at + 10; 50; 2)'
    assert_output 'gpu-gaps 599950000 599950000 1'
    run text
    assert_output --partial 'host outside CUDA'
    # Less is a part of the run with hardly any work: of 30 parts of 13.3 ms, those that are of the run as a whole.
    run found '400000 as $at | launched(13; 0; 10; 50; 1), launched(13; $at; $at + 10; 50; 2)'
    assert_output 'low-use 373389352 373389352 28'
    run found '100000 as $at | launched(13; 0; 10; 50; 1), launched(13; $at; $at + 10; 50; 2)'
    refute_output
    # One finding is enough for the same gaps.
    run found 'range(12) | launched(13; 600000 * .; 600000 * . + 10; 50; .)'
    assert_output 'host-work 6599340000 6599340000 11'
}

@test "low-use: parts of the run in which the GPU works less than half of the time" {
    # 1.5 s; the parts of 50 ms from 0.5 to 1 s are idle but for one kernel each.
    local parts='(range(10, 20) | launched(13; 0; 50000 * . + 100; $busy; .)),
        launched(13; 0; 10; 499990; 100), launched(13; 0; 1000000; 500000; 101)'
    run found "24000 as \$busy | $parts"
    assert_line --regexp '^low-use 2[56][0-9]{7} 2[56][0-9]{7} 10$'
    run found "26000 as \$busy | $parts"
    refute_output
}

@test "repeated-kernels: 16 short kernels of one name in a row" {
    local rows='range(300) | op("kernel"; (if . % $every == 0 then "other" else "step" end); 13; 8 * . + 500; $each; .), call("cudaLaunchKernel"; . * 5; 4; .)'
    # 5 us each and 3 us between them, of which a graph saves 2.
    run found "1000 as \$every | 5 as \$each | $rows"
    assert_output 'repeated-kernels 596000 596000 299'
    run found "17 as \$every | 5 as \$each | $rows"
    assert_output 'repeated-kernels 510000 510000 272'
    run found "16 as \$every | 5 as \$each | $rows"
    refute_output
    run found "1000 as \$every | 5 as \$each | $rows | if .cat == \"cuda_runtime\" then .name = \"cudaGraphLaunch\" else . end"
    refute_output
    # Longer kernels, and longer gaps, have other reasons.
    run found 'range(100) | op("kernel"; "step"; 13; 20 * . + 500; 11; .), call("cudaLaunchKernel"; . * 5; 4; .)'
    refute_output
    run found 'range(100) | op("kernel"; "step"; 13; 30 * . + 500; 5; .), call("cudaLaunchKernel"; . * 5; 4; .)'
    refute_output
}

@test "warm-up is not before a finding of the steps whose longest occurrence was in the warm-up" {
    run found '(range(2) | range("step \(. + 1)"; 300000 * .; 299000)), (range(8) | range("step \(. + 3)"; 600000 + 10000 * .; 9900)),
        (range(2), range(60; 68) | . as $step | (if $step < 2 then 300000 else 10000 end) as $long
         | ($long * $step + 10) as $at | launched(13; $at - 10; $at; $long / 2; $step) | .name |= sub("^k$"; "ampere_sgemm_128x64_nn"))'
    assert_line --index 0 --regexp '^float32-matmul '
    assert_line --regexp '^warm-up '
}

@test "float32-matmul: products that do not use the tensor cores, by name" {
    local products='range(2) | op("kernel"; $name; 13; 1000 * . + 100; 1000; .), call("cudaLaunchKernel"; . * 5; 4; .)'
    local name
    for name in ampere_sgemm_128x64_nn sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8 cutlass_80_simt_sgemm_256x128_8x4_nn; do
        run found "\"$name\" as \$name | $products"
        assert_output 'float32-matmul 2000000 1750000 2'
    done
    for name in sm80_xmma_gemm_f32f32_tf32f32_f32_nn cutlass_80_tensorop_s1688gemm_128x128 nvjet_tst_128x64 sgemmish; do
        run found "\"$name\" as \$name | $products"
        refute_output
    done
    run found "\"ampere_sgemm_128x64_nn\" as \$name | $products | if .cat == \"kernel\" then .args.device = 1 else . end"
    assert_output 'float32-matmul 2000000 1750000 2' # a GPU of which nothing is known
    h200=${h200/'"computeMajor": 9'/'"computeMajor": 7'}
    run found "\"ampere_sgemm_128x64_nn\" as \$name | $products"
    refute_output
}

# The same events, four times as long: shapes matter from 2 ms on.
longer() {
    found "$1 | .ts *= 4 | .dur *= 4"
}

@test "tiny-grids: fewer blocks than half of the multiprocessors" {
    run longer 'shaped("k"; 33; 256; 32; 13; 10; 1000; 1)' # 99 of 132 are empty
    assert_output 'tiny-grids 3000000 3000000 1'
    run longer 'shaped("k"; 66; 256; 32; 13; 10; 1000; 1)'
    refute_output
    run longer 'shaped("nvjet_tst"; 33; 256; 32; 13; 10; 1000; 1)'
    refute_output
    # Each kernel takes 9 us.
    run found 'range(1000) | shaped("k"; 33; 256; 32; 13; 10 * .; 9; .)'
    refute_output
}

@test "tiny-grids: the time counts in which no other kernel runs" {
    run longer 'shaped("k"; 33; 256; 32; 13; 0; 1000; 1), shaped("l"; 33; 256; 32; 14; 0; 1000; 2)'
    refute_output
    # 600 us of the first and 400 us of the second, without 100 us that a third covers.
    run longer 'shaped("k"; 33; 256; 32; 13; 0; 1000; 1), shaped("l"; 33; 256; 32; 14; 600; 800; 2), shaped("m"; 132; 256; 32; 15; 200; 100; 3)'
    assert_output 'tiny-grids 2700000 2700000 2'
    # Two GPUs: the one with more of it.
    run longer '(0, 1) as $gpu | shaped("k"; 33; 256; 32; 13; 0; 1000 + 200 * $gpu; $gpu) | .args.device = $gpu'
    assert_output 'tiny-grids 3000000 3000000 1'
}

@test "tail-waves: the last of at most four waves is at most half full" {
    # 256 threads of 32 registers: 8 blocks on a multiprocessor, 1056 at once. In the last of two waves 1055 are empty.
    local blocks
    run longer 'shaped("k"; 1057; 256; 32; 13; 10; 2112; 1)'
    assert_output 'tail-waves 4220000 4220000 1'
    run longer 'shaped("k"; 1584; 256; 32; 13; 10; 2112; 1)'
    assert_output 'tail-waves 2112000 2112000 1'
    for blocks in 1056 1585 2112 4225; do
        run longer "shaped(\"k\"; $blocks; 256; 32; 13; 10; 2112; 1)"
        refute_output
    done
    # What another kernel did meanwhile: 500 us.
    run longer 'shaped("k"; 1057; 256; 32; 13; 10; 2112; 1), shaped("l"; 1056; 256; 32; 14; 1622; 2000; 2)'
    assert_output 'tail-waves 2220000 2220000 1'
    run longer 'shaped("at::native::k"; 1057; 256; 32; 13; 10; 2112; 1)'
    refute_output
    # The same name and grid with blocks of another size.
    run longer 'shaped("k"; 1057; 256; 32; 13; 10; 2112; 1), shaped("k"; 1057; 128; 32; 13; 3000; 2112; 2)'
    refute_output
}

@test "low-occupancy: a quarter of the threads or less" {
    # 255 registers: 2 warps on each quarter of a multiprocessor, 8 of 64: 12 %.
    run longer 'shaped("k"; 264; 128; 255; 13; 10; 1000; 1)'
    assert_output 'low-occupancy 4000000 3040000 1'
    run longer 'shaped("k"; 264; 128; 128; 13; 10; 1000; 1)'
    assert_output 'low-occupancy 4000000 2000000 1'
    run longer 'shaped("k"; 264; 128; 96; 13; 10; 1000; 1)' # 31 %
    refute_output
    # 50 KB of shared memory: 4 blocks, and 6 %.
    run longer 'shaped("k"; 264; 32; 32; 13; 10; 1000; 1) | .args."shared memory" = 51200'
    assert_output 'low-occupancy 4000000 3520000 1'
    run longer 'shaped("k"; 131; 128; 255; 13; 10; 1000; 1)'
    refute_output
    run longer 'shaped("k"; 264; 128; 255; 13; 10; 1000; 1) | del(.args."registers per thread")'
    refute_output
}

@test "slow-step: one step of ten takes three times the median" {
    local steps='range(10) | (if . == $slow then $most else 5000 end) as $length | (5000 * . + (if . > $slow then $most - 5000 else 0 end)) as $t
        | range("step \(.)"; $t; $length - 20), launched(13; $t; $t + 10; $length - 50; .)'
    run found "5 as \$slow | 15000 as \$most | $steps"
    assert_output 'slow-step 10000000 10000000 1'
    run text
    assert_output --partial 'step 5 takes 15 ms, the median 4.98 ms; most of the difference: kernel k, 10 ms more'
    assert_output --regexp '/ range step 5, at '
    # The first step does not count, nor do steps that are 40 % longer.
    run found "0 as \$slow | 15000 as \$most | $steps"
    refute_output
    run found "5 as \$slow | 7000 as \$most | $steps"
    refute_output
    run found "5 as \$slow | 15000 as \$most | $steps | .ts /= 3 | .dur /= 3" # 3.3 ms
    refute_output
    # The first step is the slowest, and of the others the third.
    run found "2 as \$slow | 15000 as \$most | $steps | if .name == \"step 0\" then .ts -= 20000 | .dur += 20000 else . end"
    assert_line --regexp '^slow-step 10000000 10000000 1$'
    run text
    assert_output --partial 'step 2 takes 15 ms, the median 4.98 ms ('
}

@test "exposed-communication: NCCL's kernels while nothing is computed" {
    local both='shaped("k"; 1056; 256; 32; 13; 0; 1000; 1), op("kernel"; $name; 14; $at; 1000; 2)'
    run found '"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)" as $name | 1000 as $at | '"$both"
    assert_output 'exposed-communication 1000000 1000000 1'
    run found '"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)" as $name | 400 as $at | '"$both"
    assert_output 'exposed-communication 400000 400000 1'
    run found '"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)" as $name | 0 as $at | '"$both"
    refute_output
    run found '"k" as $name | 1000 as $at | '"$both"
    refute_output
    # Two GPUs work at the same time.
    run found '(0, 1) as $gpu | (op("kernel"; "ncclDevKernel_X"; 14; 0; 1000; $gpu), shaped("k"; 1056; 256; 32; 13; 1000; 1000; 3)) | .args.device = $gpu'
    assert_output 'exposed-communication 1000000 1000000 1'
}

@test "data-loading: the GPU is idle while the DataLoader is asked" {
    local batches='launched(7; 0; 10; 1000; 1), range($name; 1000; 2000), launched(7; $next; 3010; 1000; 2)'
    # From the end of the first kernel to that of the range.
    run found "\"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\" as \$name | 3005 as \$next | $batches"
    assert_output 'data-loading 1990000 1990000 1'
    run text
    assert_output --partial 'in the process that trains'
    assert_output --partial 'num_workers=4'
    run found "\"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\" as \$name | 3005 as \$next | $batches"
    assert_output 'data-loading 1990000 1990000 1'
    run text
    assert_output --partial 'Use more workers'
    run found "\"forward\" as \$name | 3005 as \$next | $batches"
    refute_output
    # The GPU has work meanwhile.
    run found "\"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\" as \$name | 3005 as \$next | $batches, kernel(7; 1010; 2000; 3)"
    refute_output
}

# As JAX does it: a kernel, 2 s in which XLA compiles, then 200 steps of 0.4 ms, of which the GPU works for 0.1 ms. XLA's
# ranges are of its NVTX domain.
jax() {
    run found 'launched(7; 0; 10; 100; 1),
        range("XlaCompile:#module=jit_update,program_id=2#"; 1000; 2000000), range("XlaPass:#name=fusion,module=jit_update#"; 2000; 900000),
        range("XlaCompileBackend:#module=jit_update#"; 902000; 1000000),
        (range(200) | . as $i | (2001500 + 300 * $i) as $t | range("XlaModule:#hlo_module=jit_update,program_id=2#"; $t; 250),
            (range(4) | launched(7; $t + 50 * .; $t + 20 + 50 * .; 25; 10 + 4 * $i + .)))'
}

@test "jit-compilation: XLA compiles before the first step, and the steps' finding comes first" {
    jax
    assert_line --index 0 --regexp '^launch-bound '
    assert_line --regexp '^jit-compilation 2000000000 2000000000 1$'
    assert_line --index 1 --regexp '^jit-compilation '
    run text
    assert_output --partial 'XLA compiles code 1 time while the program runs, 2 s the longest'
    run "$gputrace" report small.json
    assert_line --index 0 --partial '200 steps of '
    run "$gputrace" report -r compilation small.json
    assert_output --regexp '2\.00 s .* XlaCompile:#module=jit_update'
    assert_output --regexp '2\.00 s .* at least one of them'
    run "$gputrace" report -r idle small.json
    assert_output --regexp '2\.00 s .*XlaCompileBackend'
}
