# From CUPTI's parameter structs (generated_cuda*_meta.h): the parameters of each function as macros, of which DRIVER_API and
# RUNTIME_API make its entry point. And the driver's functions for per-thread default streams, which cuda.h does not declare.
/^typedef struct cu(da)?[A-Za-z0-9_]+_params_st / {
    name = $3
    sub(/_params_st$/, "", name)
    arguments = names = fields = between = ""
}
/^    / && name {
    sub(/^ +/, "")
    sub(/;.*/, "")
    field = $0
    sub(/.*[ *]/, "", field)
    arguments = arguments between $0
    names = names between field
    fields = fields between "p->" field
    between = ", "
}
/^}/ && name {
    printf "#define ARGUMENTS_%s (%s)\n#define NAMES_%s %s\n#define FIELDS_%s %s\n", name, arguments, name, names, name, fields
    if (name ~ /^cu[A-Z].*_pt[sd][sz]$/)
        printf "CUresult CUDAAPI %s(%s);\n", name, arguments
    name = ""
}
