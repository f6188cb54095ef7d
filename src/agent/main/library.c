/*
 * Starts the library on the first call of CUDA, NVTX, NCCL, PyTorch or gputrace.h: reads the settings, opens the spool,
 * loads plugins and installs subscribers. Handles forked children and the end of the process, and lends CUPTI chunks of
 * the spool as buffers. At the end are the exported functions of libgputrace.so, which CUDA's driver, NVTX and programs
 * call by name: each starts the library if that has not happened, and passes the call on.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/cupti/activity_buffers.h"
#include "agent/cupti/calls_code.h"
#include "agent/cupti/calls_memory.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/registry.h"
#include "agent/main/capture.h"
#include "agent/main/crash_handler.h"
#include "agent/main/plugins.h"
#include "agent/nccl/profiler.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "agent/ranges/device_ranges.h"
#include "agent/spool/chunk_pool.h"
#include "agent/spool/process.h"
#include "agent/spool/recorder.h"
#include "agent/spool/spool_place.h"
#include "agent/spool/stacks.h"
#include "agent/spool/writer.h"
#include "agent/torch/libtorch.h"
#include "agent/torch/operators.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/settings.h"
#include "common/threads.h"

/* Whether the program is statically linked. Libraries that such a program loads all the same (NVTX's header does) bring
 * a second C library, in which threads and much else do not work. AT_BASE is where the kernel put the program's loader.
 * It is also 0 for a program that was started by calling the loader, which is then the program. */
static bool is_static(void)
{
    char path[PATH_MAX];
    if (getauxval(AT_BASE) != 0)
        return false;
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(path, '/');
    return slash && strncmp(slash + 1, "ld-", 3) != 0 && strncmp(slash + 1, "ld.so", 5) != 0;
}

/* Whether the program runs with more rights than its user has. Then the user's environment must not make it write files
 * or load plugins. */
#define HAS_MORE_RIGHTS (getauxval(AT_SECURE) != 0)

/* --- library --- */

static struct library {
    struct settings settings;
    pthread_mutex_t lock;
    bool decided;    /* whether to record this process was decided */
    bool started;    /* the decision has been carried out */
    bool recording;  /* the spool is open */
    bool prepared;   /* subscribers, handlers and plugins, set up once in a process and its forks, are ready */
    uint32_t parent; /* pid of the parent of a forked child that is recorded; 0 if this is none */
    bool cuda;       /* CUPTI was started, or its start failed */
    bool awaits_end; /* an exit handler for the driver's end was set */
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether this process is recorded. A child that only inherited its parent's exit handlers is not recorded. */
static bool is_recorded(void)
{
    return !fork_unannounced() && library.recording && spool_file_header()->pid == (uint32_t)getpid();
}

static void finish(void)
{
    struct spool_header *header = spool_file_header();
    if (!is_recorded())
        return;
    plugins_process_end();
    nvtx_clocks_finish();
    service_finish();
    writer_name_threads();
    spool_file_save();
    header->finished = clock_now();
    __atomic_store_n(&header->state, SPOOL_FINISHED, __ATOMIC_RELEASE);
    spool_file_save_header();
}

/* Detaches a forked child from the parent's spool; the child gets its own when it has something to record. CUPTI is not
 * called: with the parent's CUDA it is of no use in a child. */
static void after_fork_in_child(void)
{
    library.parent = library.recording ? spool_file_header()->pid : library.parent;
    crash_handler_atfork_child();
    plugins_atfork_child();
    stacks_atfork_child();
    chunks_atfork_child();
    registry_atfork_child();
    phases_atfork_child();
    device_ranges_atfork_child();
    event_cache_atfork_child();
    cupti_callbacks_atfork_child();
    activity_buffers_atfork_child();
    nvtx_domains_atfork_child();
    record_nvtx_atfork_child();
    operators_atfork_child();
    capture_atfork_child();
    pthread_mutex_init(&library.lock, NULL);
    library.decided = library.started = library.recording = library.cuda = false;
}

static bool library_start(void);

/* Starts recording in a forked child that uses NVTX. Subscribed first, so that the other subscribers find a spool. */
static void wake(void)
{
    if (!__atomic_load_n(&library.decided, __ATOMIC_RELAXED) && library_start()) {
        nvtx_domains_republish();
        nvtx_definitions_republish();
    }
}

#define WAKE_BY(what, kind)                                                     \
    static void wake_by_##what(void *data, const struct gputrace_##kind *event) \
    {                                                                           \
        (void)data, (void)event;                                                \
        wake();                                                                 \
    }
WAKE_BY(event, nvtx)
WAKE_BY(name, nvtx_name)
WAKE_BY(extension, nvtx_extension)

/* Starts recording in a forked child at its first PyTorch operator or NCCL call. Returns whether the child is recorded.
 */
static bool wake_by_operator(void)
{
    wake();
    return library.recording;
}

static bool prepare(void)
{
    if (library.prepared) {
        capture_follow_clock();
        return true;
    }
    bool nodes = (library.settings.trace & TRACE_KERNEL) && library.settings.graph_nodes;
    (void)thread_keys_work(); /* asked now: later, a thread may hold the dynamic linker's lock and wait for this one */
    int failed = registry_nvtx_push_register(wake_by_event, NULL) | registry_nvtx_pop_register(wake_by_event, NULL) |
                 registry_nvtx_start_register(wake_by_event, NULL) | registry_nvtx_end_register(wake_by_event, NULL) |
                 registry_nvtx_mark_register(wake_by_event, NULL) | registry_nvtx_name_register(wake_by_name, NULL) |
                 registry_nvtx_extension_register(wake_by_extension, NULL);
    failed |= capture_init(&library.settings);
    call_stacks_init((uint64_t)library.settings.stacks, (uint64_t)library.settings.stacks_every, nodes);
    failed |= record_cuda_subscribe((uint64_t)library.settings.trace);
    if (nodes)
        failed |= record_cuda_subscribe_graph_nodes();
    if (library.settings.trace & TRACE_NVTX)
        failed |= record_nvtx_subscribe();
    failed |= crash_chunk_subscribe((uint64_t)library.settings.trace);
    recorder_init(wake_by_operator);
    operators_init((uint64_t)library.settings.trace);
    failed |= torch_profiler_init((uint64_t)library.settings.trace);
    nccl_init((uint64_t)library.settings.trace, library.settings.library);
    failed |= capture_init_last();
    failed |= pthread_atfork(NULL, NULL, after_fork_in_child);
    failed |= atexit(finish) | at_quick_exit(finish);
    library.prepared = !failed;
    return library.prepared;
}

static bool is_asked_for(const struct settings *settings)
{
    struct job_rank rank;
    bool is_chosen = settings->only_process == 0 || settings->only_process == getpid();
    if (!settings->spool_directory || !*settings->spool_directory || !is_chosen)
        return false;
    if (!settings->ranks || !*settings->ranks)
        return true;
    rank_read(&rank); /* each process reads its own variables: one torchrun starts several ranks */
    return rank_list_has(settings->ranks, rank.rank);
}

static bool open_spool(void)
{
    const char *directory = library.settings.spool_directory;
    if (!is_asked_for(&library.settings))
        return false;
    const char *reason = HAS_MORE_RIGHTS ? "it runs with more rights than its user has (set-user-ID)"
                         : is_static()   ? "it is statically linked"
                                         : NULL;
    if (reason) {
        warning("process %d is not recorded: %s", (int)getpid(), reason);
        return false;
    }
    epoch_prepare();
    spool_place_set_server(library.settings.spool_server);
    crash_handler_install_for_spool();
    if (chunks_open(directory, (uint64_t)library.settings.trace) != 0) {
        crash_handler_remove();
        if (errno == ECONNREFUSED) { /* the run has ended, so no warning */
            verbose("process %d is not recorded: the run has ended", (int)getpid());
            return false;
        }
        warning("cannot record this process: no spool in '%s': %m", directory);
        return false;
    }
    library.recording = true;
    fork_watch_count(&spool_file_header()->unannounced);
    if (!prepare()) {
        warning("cannot record this process: %m");
        return false;
    }
    /* No shortcut with plugins: what a plugin does while it starts is not published. A program that registers callbacks
     * closes the shortcut. */
    bool plugins = library.settings.plugins && *library.settings.plugins;
    if ((library.settings.trace & TRACE_NVTX) && !plugins && !capture_hears_nvtx())
        registry_open_shortcut(record_nvtx_briefly);
    if (service_start((uint64_t)library.settings.flush_interval_ms * NS_PER_MS) != 0)
        recorder_note(SPOOL_NOTE_WARNING, "times of GPU work are collected at the end alone: no thread for it (%m)");
    return true;
}

/* Reads the settings, once for a process and its forks. Texts are copied, because the program may change its
 * environment. */
static void read_settings(void)
{
    if (library.prepared)
        return;
    settings_read(&library.settings);
#define COPY(field, variable) library.settings.field = library.settings.field ? strdup(library.settings.field) : NULL;
    SETTINGS_TEXTS(COPY)
#undef COPY
    log_set_level((enum log_level)library.settings.verbose);
    log_only_to(library.settings.standard_error);
    nvtx_domains_select(library.settings.nvtx_domains, library.settings.nvtx_exclude);
}

/* Whether a system call filter forbids what recording needs; then the process is not recorded. Signals are not blocked
 * here, because trying to may end the process, so two threads may run this at once. */
static bool is_put_to_sleep(void)
{
    struct settings settings;
    settings_read(&settings);
    int failure = signal_mask_probe(settings.seccomp_filters);
    if (!failure)
        return false;
    bool first = !__atomic_exchange_n(&library.decided, true, __ATOMIC_RELAXED);
    bool wanted = is_asked_for(&settings) && !HAS_MORE_RIGHTS;
    log_set_level(LOG_QUIET); /* messages block signals, too */
    spool_place_set_server(settings.spool_server);
    if (first && wanted)
        spool_place_note_unrecorded(settings.spool_directory, failure);
    __atomic_store_n(&library.started, true, __ATOMIC_RELEASE);
    return true;
}

/* Reads the settings and opens the spool, once. Returns whether this process is recorded. */
static bool start_recording(void)
{
    struct signal_guard before;
    signal_guard_begin(&before);
    pthread_mutex_lock(&library.lock);
    bool first = !library.decided, forked = library.prepared;
    if (first) {
        library.decided = true;
        read_settings();
        library.recording = open_spool();
        __atomic_store_n(&library.started, true, __ATOMIC_RELEASE);
    }
    bool recording = library.recording;
    pthread_mutex_unlock(&library.lock);
    signal_guard_end(&before);
    if (!first || !recording)
        return recording;
    /* Libraries that recording needs are loaded without the lock: the dynamic loader has a lock of its own, and a thread
     * that loads a library may be waiting for ours. */
    if (library.settings.stacks & STACKS_ALL)
        stacks_prepare();
    if ((library.settings.stacks & STACKS_PYTHON) && stacks_find_python())
        capture_python_found();
    operators_find();
    if (forked)
        plugins_after_fork(library.parent);
    else
        plugins_load(library.settings.plugins);
    return true;
}

/* Starts the library if that has not happened. Returns whether this process is recorded. */
static bool library_start(void)
{
    if (fork_turned_away())
        return false;
    if (__atomic_load_n(&library.started, __ATOMIC_ACQUIRE))
        return library.recording;
    int saved = errno, cancelling, ignored;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling); /* a thread cancelled here would keep NVTX's lock */
    fork_watch_begin();
    bool recording = !is_put_to_sleep() && start_recording();
    pthread_setcancelstate(cancelling, &ignored);
    errno = saved;
    return recording;
}

/* --- CUDA --- */

static void driver_ends(void)
{
    if (is_recorded())
        service_driver_ends();
}

/* CUPTI has a buffer for each thread, and most threads record little: a thread's first buffer is small, and a buffer
 * soon after another is four times as large as that, up to a whole segment. */
#define BUFFER_BYTES_FIRST ((uint64_t)32 << 10)
#define BUFFER_SOON_NS (100 * NS_PER_MS)

static __thread struct {
    uint64_t bytes, asked; /* the thread's last buffer: its size, and when CUPTI asked for it (CLOCK_MONOTONIC) */
} thread_buffer;

/* Returns a buffer for CUPTI, or NULL. The first call sets our exit handler: CUDA has set its own by then, so ours runs
 * before CUDA takes itself down. */
static void *get_buffer(size_t *bytes)
{
    if (!__atomic_exchange_n(&library.awaits_end, true, __ATOMIC_RELAXED))
        atexit(driver_ends);
    uint64_t now = clock_monotonic(), larger = 4 * thread_buffer.bytes;
    bool soon = thread_buffer.bytes > 0 && now - thread_buffer.asked < BUFFER_SOON_NS;
    uint64_t most = !soon ? BUFFER_BYTES_FIRST : larger < SPOOL_SEGMENT_BYTES ? larger : SPOOL_SEGMENT_BYTES;
    thread_buffer.asked = now;
    thread_buffer.bytes = most;
    struct spool_chunk *chunk = chunk_get(SPOOL_CUPTI, most / 4, most);
    if (!chunk)
        return NULL;
    *bytes = chunk_space(chunk);
    return chunk_data(chunk);
}

static void put_buffer(void *space, size_t used)
{
    chunk_done(chunk_of_data(space), used);
}

static const struct activity_store store = {
    .header = spool_file_header,
    .get = get_buffer,
    .done = put_buffer,
};

#define EXPORTED __attribute__((visibility("default")))

static int start_cupti(char *why, size_t size)
{
    const struct cupti *cupti = cupti_load(library.settings.cupti, why, size);
    if (!cupti)
        return -1;
    verbose("pid %d: CUPTI %u from '%s'", (int)getpid(), cupti->version, cupti->path);
    recorder_note(SPOOL_NOTE_VERBOSE, "CUPTI %u from '%s'", cupti->version, cupti->path);
    cuda_versions_read(&spool_file_header()->driver_version, &spool_file_header()->runtime_version);
    if (cupti_callbacks_init(cupti, why, size) != 0)
        return -1;
    return activity_buffers_init(cupti, &store, (uint64_t)library.settings.trace, why, size);
}

/* Called by the CUDA driver while it initialises (CUDA_INJECTION64_PATH). */
EXPORTED int InitializeInjection(void);
int InitializeInjection(void)
{
    int saved = errno;
    if (!library_start())
        return 1;
    pthread_mutex_lock(&library.lock);
    bool first = !library.cuda;
    library.cuda = true;
    pthread_mutex_unlock(&library.lock);
    if (first) {
        chunk_pool_serve();
        crash_handler_install();
        operators_find();
    }
    char why[1024];
    if (first && start_cupti(why, sizeof(why)) == 0) {
        capture_cupti_ready();
        service_driver_started();
    } else if (first) {
        recorder_warn("CUDA is not recorded: %s", why);
        spool_file_header()->cuda_unrecorded = (library.settings.trace & ~(int64_t)TRACE_NVTX) != 0;
    }
    errno = saved;
    return 1;
}

/* --- other exported functions --- */

/* Defines the exported function NAME, which starts the library and returns RESULT, or 0 if this process is not
 * recorded. */
#define ENTRY(type, name, parameters, result)  \
    EXPORTED type name parameters;             \
    type name parameters                       \
    {                                          \
        return library_start() ? (result) : 0; \
    }

/* Called by NVTX's header, once for each module of the program that uses it (NVTX_INJECTION64_PATH). */
ENTRY(int, InitializeInjectionNvtx2, (NvtxGetExportTableFunc_t export_table), nvtx_attach(export_table))

/* Called by the headers of NVTX's extensions, once for each module of the program. */
ENTRY(int, InitializeInjectionNvtxExtension, (nvtxExtModuleInfo_t * module), nvtx_extension_attach(module))

/* Called by gputrace.h. gputrace_start() and gputrace_stop() return 1; gputrace_active() returns whether this process
 * is being recorded right now. */
ENTRY(int, gputrace_start, (void), (capture_ask(true), 1))
ENTRY(int, gputrace_stop, (void), (capture_ask(false), 1))
ENTRY(int, gputrace_active, (void), recorder_is_on())

/* Publishes to subscribers of memory_access that the program's next work in STREAM uses BYTES at AT as MODE (enum
 * gputrace_access_mode) says. Returns 1 if there are subscribers, else 0. */
EXPORTED int gputrace_access(const void *at, size_t bytes, int mode, void *stream);
int gputrace_access(const void *at, size_t bytes, int mode, void *stream)
{
    if (!library_start() || !registry_memory_access_wanted())
        return 0;
    uint64_t now = clock_now();
    struct gputrace_memory_access access = {
        .call = {.start = now, .end = now, .device = GPUTRACE_NO_DEVICE, .thread = writer_thread()},
        .address = (uint64_t)(uintptr_t)at,
        .bytes = bytes,
        .stream = stream,
        .mode = (uint32_t)mode,
    };
    current_context_find(&access.call); /* a default stream belongs to the current context */
    registry_memory_access_publish(&access);
    return 1;
}

/* Records a range in STREAM, from the end of the work before the start to the end of the work before the range's end.
 * Returns the range's number, or 0 if it is not recorded. */
ENTRY(uint64_t, gputrace_device_range_start, (const char *message, void *stream), device_range_start(message, stream))

EXPORTED void gputrace_device_range_end(uint64_t range, void *stream);
void gputrace_device_range_end(uint64_t range, void *stream)
{
    if (range != 0 && library_start())
        device_range_end(range, stream);
}

/* Called by callbacks.h: returns the program's host, or NULL if VERSION is not ours or this process is not recorded. */
ENTRY(const struct gputrace_host *, gputrace_program_host, (uint32_t version), plugins_program_host(version))
