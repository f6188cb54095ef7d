/*
 * What the environment asks of the simulated GPU. Read once, at the first question, and constant from then on.
 * README.md explains each variable; this list is the only place that knows their names and what they are without being
 * set.
 */
#ifndef SIMGPU_CORE_CONFIG_H
#define SIMGPU_CORE_CONFIG_H

#include <stdint.h>

/* X(field, variable, value when it is not set). All are unsigned numbers; a "th" counts from 1, and 0 means never. */
#define CONFIG_SETTINGS(X)                                                                                           \
    X(devices, "SIMGPU_DEVICES", 1)                         /* how many, 1 to 8 */                                   \
    X(no_device, "SIMGPU_NO_DEVICE", 0)                     /* cuInit finds none */                                  \
    X(memory, "SIMGPU_MEMORY", UINT64_C(16) << 30)          /* bytes of each device */                               \
    X(memory_until, "SIMGPU_OOM_AFTER", UINT64_MAX)         /* no more after so many bytes were handed out in all */ \
    X(kernel_ns, "SIMGPU_KERNEL_NS", 0)                     /* each kernel takes so long; 0: by its size */          \
    X(launch_ns, "SIMGPU_LAUNCH_NS", 2000)                  /* from the call to the earliest start */                \
    X(jit_ns, "SIMGPU_JIT_NS", 2000000)                     /* compiling PTX takes so long */                        \
    X(hang_kernel, "SIMGPU_HANG_KERNEL", 0)                 /* the Nth kernel never ends */                          \
    X(fault_kernel, "SIMGPU_FAULT_KERNEL", 0)               /* the Nth kernel reads where nothing is */              \
    X(zero_kernels, "SIMGPU_ZERO_KERNELS", 0)               /* every Nth kernel's record has no times */             \
    X(crash_launch, "SIMGPU_CRASH_LAUNCH", 0)               /* SIGSEGV inside the Nth launch */                      \
    X(kill_launch, "SIMGPU_KILL_LAUNCH", 0)                 /* SIGKILL inside the Nth launch */                      \
    X(kill_launched, "SIMGPU_KILL_LAUNCHED", 0)             /* the same, once its record is written */               \
    X(kill_graph_launched, "SIMGPU_KILL_GRAPH_LAUNCHED", 0) /* the same of graphs */                                 \
    X(other_numbers, "SIMGPU_OTHER_NUMBERS", 0)             /* nodes of graphs in graphs count from the last back */ \
    X(drop_records, "SIMGPU_DROP_RECORDS", 0)               /* every Nth activity record is lost, and counted */     \
    X(no_unified_memory, "SIMGPU_NO_UNIFIED_MEMORY", 0)     /* CUPTI does not record unified memory */               \
    X(cupti_taken, "SIMGPU_CUPTI_TAKEN", 0)                 /* somebody else has subscribed */                       \
    X(cupti_version, "SIMGPU_CUPTI_VERSION", 130001)        /* what CUPTI says, with that version's record sizes */

struct config {
#define X(field, variable, value) uint64_t field;
    CONFIG_SETTINGS(X)
#undef X
};

const struct config *config(void);

#endif
