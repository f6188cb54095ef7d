# Rows of a table by callback id, from one of CUPTI's lists of callback ids:
#
#     CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000 = 214,   becomes   [214] = "cudaLaunchKernel",
#
# With api_classes.list before CUPTI's list, a row for each function that is no action: [165] = API_QUERY,
# With newer_calls.list after it, also rows for calls with larger ids than CUPTI's list has.
#
# The driver's `_v2` counts calls of one name, the runtime's `_v7000` is the version that brought the call; `_ptsz` and
# `_ptds` are the variants of --default-stream per-thread, `cu64` those of 64-bit pointers before CUDA 4. `__cuda…` is
# what the compiler's <<<>>> calls.
FILENAME ~ /api_classes\.list$/ {
    if ($0 ~ /^#/)
        next
    if ($1 ~ /:$/)
        class = toupper(substr($1, 1, length($1) - 1))
    else
        for (i = 1; i <= NF; i++)
            class_of[$i] = class
    next
}
FILENAME ~ /newer_calls\.list$/ {
    for (i = 3; i <= NF; i++)
        if ($1 == api && $2 + i - 3 > number)
            call($i, $2 + i - 3)
    next
}
/TRACE_CBID_[a-z_].*=/ {
    api = /RUNTIME/ ? "runtime" : "driver"
    name = $1
    sub(/.*TRACE_CBID_/, "", name)
    number = $3 + 0
    call(name, number)
}
function call(name, number)
{
    while (sub(/_(v[0-9]+|ptsz|ptds)$/, "", name))
        ;
    sub(/^_+/, "", name)
    sub(/^cu64/, "cu", name)
    if (!class)
        printf "[%d] = \"%s\",\n", number, name
    else if (name in class_of && class_of[name] != "ACTION")
        printf "[%d] = API_%s, /* %s */\n", number, class_of[name], name
}

# Names of errors, from the enum of the runtime in driver_types.h and that of the driver in cuda.h. Success is not an
# error. Of two names of one number the first counts.
#
#     cudaErrorInvalidMemcpyDirection = 21,   becomes   case 21: return "cudaErrorInvalidMemcpyDirection";
/^(typedef )?enum .*cudaError(_enum)?( *{)?$/ { inside = 1 }
/^}/ { inside = 0 }
inside && match($0, /(cudaError|CUDA_ERROR_)[A-Za-z0-9_]+ *= *[0-9]+/) {
    split(substr($0, RSTART, RLENGTH), part, / *= */)
    if (!seen[part[2]]++)
        printf "case %d: return \"%s\";\n", part[2], part[1]
}
