# cudaErrorInvalidMemcpyDirection = 21,   becomes   case 21: return "cudaErrorInvalidMemcpyDirection";
# Read are the enum of the runtime in driver_types.h and that of the driver in cuda.h. Success is not an error. Of two
# names of one number the first counts.
/^(typedef )?enum .*cudaError(_enum)?( *{)?$/ { inside = 1 }
/^}/ { inside = 0 }
inside && match($0, /(cudaError|CUDA_ERROR_)[A-Za-z0-9_]+ *= *[0-9]+/) {
    split(substr($0, RSTART, RLENGTH), part, / *= */)
    if (!seen[part[2]]++)
        printf "case %d: return \"%s\";\n", part[2], part[1]
}
