# CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000 = 214,   becomes   [214] = "cudaLaunchKernel",
# The driver's `_v2` counts calls of one name, the runtime's `_v7000` is the version that brought the call; `_ptsz` and
# `_ptds` are the variants of --default-stream per-thread, `cu64` those of 64-bit pointers before CUDA 4. `__cuda…` is
# what the compiler's <<<>>> calls.
/TRACE_CBID_[a-z_].*=/ {
    name = $1
    sub(/.*TRACE_CBID_/, "", name)
    number = $3
    sub(/,.*/, "", number)
    while (sub(/_(v[0-9]+|ptsz|ptds)$/, "", name))
        ;
    sub(/^_+/, "", name)
    sub(/^cu64/, "cu", name)
    printf "[%d] = \"%s\",\n", number, name
}
