/* Asks PyTorch's profilerEnabled() after waits for the device and at some operators, and writes the note once. */
#include "agent/torch/profiler.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/dispatch/fork_watch.h"
#include "agent/dispatch/registry.h"
#include "agent/spool/recorder.h"
#include "agent/torch/libtorch.h"
#include "common/settings.h"

/* torch::profiler::impl::profilerEnabled(), since PyTorch 1.11 */
#define ENABLED "_ZN5torch8profiler4impl15profilerEnabledEv"

typedef bool enabled_fn(void);

static struct {
    enabled_fn *enabled; /* NULL: PyTorch is not loaded, or lacks it */
    uint64_t seen;       /* libraries that had come when it was looked for last */
    uint32_t noticed;    /* generation of the process that it ran in; 0: none */
} profiler;

void torch_profiler_look(void)
{
    uint64_t libraries = torch_libraries_count();
    if (__atomic_load_n(&profiler.enabled, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&profiler.seen, libraries, __ATOMIC_RELAXED) == libraries)
        return;
    void *handle = torch_library_open(NULL);
    if (handle)
        __atomic_store_n(&profiler.enabled, (enabled_fn *)dlsym(handle, ENABLED), __ATOMIC_RELAXED);
}

void torch_profiler_ask(void)
{
    enabled_fn *enabled = __atomic_load_n(&profiler.enabled, __ATOMIC_RELAXED);
    uint32_t process = fork_generation();
    if (!enabled || process == 0 || __atomic_load_n(&profiler.noticed, __ATOMIC_RELAXED) == process || !enabled())
        return;
    if (__atomic_exchange_n(&profiler.noticed, process, __ATOMIC_RELAXED) != process)
        recorder_note(SPOOL_NOTE_WARNING,
                      "torch.profiler ran in this process, too: CUPTI serves one profiler, so one of "
                      "the two traces lacks CUDA activity");
}

static void waited(void *data, const struct gputrace_device_synchronization *wait)
{
    (void)data, (void)wait;
    torch_profiler_look();
    torch_profiler_ask();
}

int torch_profiler_init(uint64_t trace_bits)
{
    return (trace_bits & TRACE_SYNC) ? registry_device_synchronization_register(waited, NULL) : 0;
}
