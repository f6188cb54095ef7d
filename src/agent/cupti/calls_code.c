/*
 * The driver's functions that load, unload and link code, or look up functions in it. Loading and linking are published
 * as phases of compilation; functions that were looked up are named before their first launch.
 */
#include "agent/cupti/calls_code.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cupti/activity_buffers.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/kernel_names.h"
#include "agent/dispatch/registry.h"
#include "common/clock.h"
#include "common/threads.h"

/*
 * --- phases of compilation ---
 *
 * A list has the open phases. Each start and end is published, and the moments when the first phase begins and the last
 * ends. A phase ends with its call, or, for a capture, with its stream, context or thread.
 */

struct phase {
    struct phase *next;               /* the phase that began before this one */
    const void *owner;                /* thread whose end ends the phase; NULL: none */
    const struct CUstream_st *stream; /* the captured stream; NULL if the phase lasts as long as its call */
    struct gputrace_call call;        /* the call that began the phase */
    uint64_t number;
    enum gputrace_trigger trigger;
};

static struct {
    pthread_mutex_t lock; /* guards all members; held while publishing, so that starts and ends come in order */
    struct phase *going_on;
    unsigned pending;
    uint64_t last;
    bool forgotten; /* there was no subscriber for a while: the list is out of date */
} phases = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread char this_thread; /* its address identifies the thread */
static struct thread_key at_thread_end;

/* Locks the list. A list that is out of date is emptied. */
static void lock(void)
{
    pthread_mutex_lock(&phases.lock);
    if (__atomic_exchange_n(&phases.forgotten, false, __ATOMIC_RELAXED)) {
        while (phases.going_on) {
            struct phase *phase = phases.going_on;
            phases.going_on = phase->next;
            free(phase);
        }
        phases.pending = 0;
    }
}

/* Ends the phase at *AT and publishes its end. The caller holds the lock. */
static void end_phase(struct phase **at, const struct gputrace_call *last, enum gputrace_ending ending)
{
    struct phase *phase = *at;
    struct gputrace_call call = phase->call;
    call.end = last->end;
    call.result = last->result;
    *at = phase->next;
    phases.pending--;
    registry_compilation_phase_end_publish(
        &(struct gputrace_compilation_phase_end){call, phase->number, phase->trigger, phases.pending, ending});
    if (phases.pending == 0)
        registry_compilation_end_publish(
            &(struct gputrace_compilation_end){call, phase->number, phase->trigger, phases.pending});
    free(phase);
}

/* Ends the phases of a thread (OWNER), of the captured STREAM and of CONTEXT; each may be NULL. */
static void end_all(const void *owner, const struct CUstream_st *stream, const struct CUctx_st *context,
                    const struct gputrace_call *last, enum gputrace_ending ending)
{
    lock();
    for (struct phase **at = &phases.going_on; *at;) {
        const struct phase *phase = *at;
        if ((owner && phase->owner == owner) || (stream && phase->stream == stream) ||
            (context && phase->call.context == context))
            end_phase(at, last, ending);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&phases.lock);
}

static void thread_ended(void *unused)
{
    uint64_t now = clock_now();
    struct gputrace_call none = {.start = now, .end = now};
    (void)unused;
    if (!fork_unannounced())
        end_all(&this_thread, NULL, NULL, &none, GPUTRACE_ENDING_THREAD_ENDED);
}

/* Whether this thread is in a client's callback, whose CUDA calls are not published. The callback may have been called
 * from here, under the lock. */
static bool is_clients(void)
{
    const struct epoch_reader *reader = epoch_reader();
    return !reader || reader->in_client;
}

void phase_begins(enum gputrace_trigger trigger, const struct CUstream_st *stream, bool bound,
                  const struct gputrace_call *call)
{
    bool wanted = registry_compilation_start_wanted() || registry_compilation_end_wanted() ||
                  registry_compilation_phase_start_wanted() || registry_compilation_phase_end_wanted();
    struct phase *phase = wanted && !is_clients() ? malloc(sizeof(*phase)) : NULL;
    if (!phase)
        return;
    if (bound)
        thread_key_set(&at_thread_end, thread_ended);
    lock();
    *phase = (struct phase){
        .next = phases.going_on,
        .owner = bound ? &this_thread : NULL,
        .stream = stream,
        .call = *call,
        .number = ++phases.last,
        .trigger = trigger,
    };
    phases.going_on = phase;
    phases.pending++;
    struct gputrace_call start = phase->call;
    start.end = start.start;
    if (phases.pending == 1)
        registry_compilation_start_publish(
            &(struct gputrace_compilation_start){start, phase->number, trigger, phases.pending});
    registry_compilation_phase_start_publish(
        &(struct gputrace_compilation_phase_start){start, phase->number, trigger, phases.pending});
    pthread_mutex_unlock(&phases.lock);
}

void phase_call_returns(const struct gputrace_call *call)
{
    if (is_clients())
        return;
    lock();
    for (struct phase **at = &phases.going_on; *at; at = &(*at)->next) {
        const struct phase *phase = *at;
        bool same = phase->owner == &this_thread && !phase->stream && phase->call.function == call->function &&
                    phase->call.correlation == call->correlation;
        if (same) {
            end_phase(at, call, GPUTRACE_ENDING_RETURNED);
            break;
        }
    }
    pthread_mutex_unlock(&phases.lock);
}

void phases_end(const struct CUstream_st *stream, const struct CUctx_st *context, const struct gputrace_call *call,
                enum gputrace_ending ending)
{
    if (!is_clients())
        end_all(NULL, stream, context, call, ending);
}

unsigned phases_pending(void)
{
    lock();
    unsigned pending = phases.pending;
    pthread_mutex_unlock(&phases.lock);
    return pending;
}

void phases_forget(void)
{
    __atomic_store_n(&phases.forgotten, true, __ATOMIC_RELAXED);
}

void phases_atfork_child(void)
{
    pthread_mutex_init(&phases.lock, NULL);
    phases.going_on = NULL; /* another thread may have been changing the list at the fork, so its memory is not freed */
    phases.pending = 0;
}

/* --- images --- */

/* The first bytes of images in memory. None is zero, so that a comparison stops at the end of a text. */
static const struct {
    char magic[4];
    enum gputrace_image image;
} binaries[] = {
    {"\x7f"
     "ELF",
     GPUTRACE_IMAGE_CUBIN},
    {"\x50\xed\x55\xba", GPUTRACE_IMAGE_FATBIN}, /* header of a fat binary: 0xba55ed50 */
    {"\xb1\x43\x62\x46", GPUTRACE_IMAGE_FATBIN}, /* __cudaFatCudaBinary, which points to a fat binary: 0x466243b1 */
};

/* Whether TEXT is PTX. Its first word is ".version", after optional blanks and comments. */
static bool is_ptx(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n\v\f");
        if (text[0] != '/' || (text[1] != '/' && text[1] != '*'))
            return strncmp(text, ".version", strlen(".version")) == 0;
        const char *mark = text[1] == '/' ? "\n" : "*/", *end = strstr(text + 2, mark);
        text = end ? end + strlen(mark) : "";
    }
}

enum gputrace_image image_sort(const void *image)
{
    if (!image)
        return GPUTRACE_IMAGE_UNKNOWN;
    for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
        if (strncmp(image, binaries[i].magic, sizeof(binaries[i].magic)) == 0)
            return binaries[i].image;
    return is_ptx(image) ? GPUTRACE_IMAGE_PTX : GPUTRACE_IMAGE_UNKNOWN;
}

/* --- modules and libraries: loading, which is a phase of compilation, and unloading --- */

struct loaded {
    const void *handle; /* where the call writes the handle */
    const void *image;  /* image in memory; NULL if loaded from a file */
    const char *file;   /* name of a file; NULL if loaded from memory */
    bool library;
};

static enum gputrace_image image_of(const struct loaded *loaded)
{
    return loaded->file ? GPUTRACE_IMAGE_FILE : image_sort(loaded->image);
}

static void publish_load(const struct driver_return *returned, const struct loaded *loaded)
{
    const void *handle = NULL;
    if (!registry_module_load_wanted())
        return;
    if (driver_call_done(returned))
        memcpy(&handle, loaded->handle, sizeof(handle));
    registry_module_load_publish(&(struct gputrace_module_load){
        .call = returned->call,
        .module = driver_call_integer(handle),
        .library = loaded->library,
        .image = image_of(loaded),
        .file = loaded->file,
    });
}

/* Defines a row's functions for a function that loads code. The last arguments initialise a struct loaded from `p`, the
 * parameters. */
#define LOADS(function, ...)                                                                                  \
    static struct loaded loaded_by_##function(const function##_params *p)                                     \
    {                                                                                                         \
        return (struct loaded){__VA_ARGS__};                                                                  \
    }                                                                                                         \
    static void publish_##function(const struct driver_return *returned)                                      \
    {                                                                                                         \
        struct loaded loaded = loaded_by_##function(returned->params);                                        \
        publish_load(returned, &loaded);                                                                      \
    }                                                                                                         \
    static uint32_t phase_of_##function(const void *params, CUcontext context, uint32_t correlation)          \
    {                                                                                                         \
        (void)context, (void)correlation;                                                                     \
        struct loaded loaded = loaded_by_##function(params);                                                  \
        return image_of(&loaded) == GPUTRACE_IMAGE_PTX ? GPUTRACE_TRIGGER_PTX : GPUTRACE_TRIGGER_MODULE_LOAD; \
    }
LOADS(cuModuleLoad, .handle = p->module, .file = p->fname)
LOADS(cuModuleLoadData, .handle = p->module, .image = p->image)
LOADS(cuModuleLoadDataEx, .handle = p->module, .image = p->image)
LOADS(cuModuleLoadFatBinary, .handle = p->module, .image = p->fatCubin)
LOADS(cuLibraryLoadData, .handle = p->library, .image = p->code, .library = true)
LOADS(cuLibraryLoadFromFile, .handle = p->library, .file = p->fileName, .library = true)

static void unload_begins(const void *params)
{
    (void)params;
    activity_buffers_unloading();
}

static void publish_unload(const struct driver_return *returned, const void *handle, bool library)
{
    uint64_t module = driver_call_integer(handle);
    kernel_names_unloaded();
    lazy_loading_unloaded();
    if (driver_call_done(returned))
        first_launches_unloaded(handle);
    registry_module_unload_publish(
        &(struct gputrace_module_unload){.call = returned->call, .module = module, .library = library});
}

#define UNLOADS(function, handle, is_library)                                                          \
    static void publish_##function(const struct driver_return *returned)                               \
    {                                                                                                  \
        publish_unload(returned, ((const function##_params *)returned->params)->handle, (is_library)); \
    }
UNLOADS(cuModuleUnload, hmod, false)
UNLOADS(cuLibraryUnload, library, true)

/*
 * Calls that prepare code and are published as phases of compilation: linking, and looking up functions, which loads
 * their code where modules are loaded lazily. A function that was looked up has a name and is launched next
 * (kernel_names.h).
 */

/* Whether the call loads the kernel's code. Libraries look a kernel's function up before each launch, and only the
 * first time loads code. */
static uint32_t loads_kernel(const void *params, CUcontext context, uint32_t correlation)
{
    const cuKernelGetFunction_params *p = params;
    (void)correlation;
    return lazy_loading_is_first(p->kernel, context) ? GPUTRACE_TRIGGER_FUNCTION_LOAD : 0;
}

/* Publishes the name of FUNCTION, a CUfunction or CUkernel of MODULE, and expects its first launch. NAME and MODULE may
 * be NULL. */
static void got(const void *function, const char *name, const void *module)
{
    function_name_publish(function, name);
    first_launches_got(name, module);
}

/* Notes the kernel's name. CUDA's runtime calls this function right before a kernel's first launch, which then loads
 * the code. */
static void note_kernel(const struct driver_return *returned)
{
    const cuLibraryGetKernel_params *p = returned->params;
    if (!driver_call_done(returned))
        return;
    got(*p->pKernel, p->name, p->library);
    if (callback_switches_wanted() & PHASE_KINDS)
        lazy_loading_arm(*p->pKernel, returned->call.correlation);
}

static void note_function(const struct driver_return *returned)
{
    const cuKernelGetFunction_params *p = returned->params;
    if (!driver_call_done(returned))
        return;
    lazy_loading_loaded(p->kernel);
    if (p->pFunc)
        got(*p->pFunc, kernel_name_ask(p->kernel), NULL);
}

static void note_module_function(const struct driver_return *returned)
{
    const cuModuleGetFunction_params *p = returned->params;
    if (driver_call_done(returned) && p->hfunc)
        got(*p->hfunc, p->name, p->hmod);
}

static void note_functions(const struct driver_return *returned)
{
    const cuModuleEnumerateFunctions_params *p = returned->params;
    unsigned count = driver_call_done(returned) && p->functions ? p->numFunctions : 0;
    for (unsigned i = 0; i < count; i++)
        got(p->functions[i], function_name_ask(p->functions[i]), p->mod);
}

static void note_kernels(const struct driver_return *returned)
{
    const cuLibraryEnumerateKernels_params *p = returned->params;
    unsigned count = driver_call_done(returned) && p->kernels ? p->numKernels : 0;
    for (unsigned i = 0; i < count; i++)
        got(p->kernels[i], kernel_name_ask(p->kernels[i]), p->lib);
}

/* CUPTI records just-in-time compilation only within calls that have a callback. */
#define PREPARES (PHASE_KINDS | REGISTRY_BIT(jit))
#define LOAD (REGISTRY_BIT(module_load) | PREPARES)
#define UNLOAD (REGISTRY_BIT(module_unload) | REGISTRY_BIT(launch_name))
#define GETS (REGISTRY_BIT(launch_name) | REGISTRY_BIT(function_name))
#define LOADS_ROW(function) DRIVER_CALL(function, LOAD, publish_##function, .trigger = phase_of_##function)
#define LINKS .phase = GPUTRACE_TRIGGER_LINK
#define MAKES_CONTEXT .phase = GPUTRACE_TRIGGER_CONTEXT_CREATION
#define LOADS_FUNCTION .phase = GPUTRACE_TRIGGER_FUNCTION_LOAD

static const struct driver_call rows[] = {
    LOADS_ROW(cuModuleLoad),
    LOADS_ROW(cuModuleLoadData),
    LOADS_ROW(cuModuleLoadDataEx),
    LOADS_ROW(cuModuleLoadFatBinary),
    LOADS_ROW(cuLibraryLoadData),
    LOADS_ROW(cuLibraryLoadFromFile),
    DRIVER_CALL(cuModuleUnload, UNLOAD, publish_cuModuleUnload, .begins = unload_begins),
    DRIVER_CALL(cuLibraryUnload, UNLOAD, publish_cuLibraryUnload, .begins = unload_begins),
    DRIVER_CALL(cuLinkAddData, PREPARES, NULL, LINKS),
    DRIVER_CALL(cuLinkAddData_v2, PREPARES, NULL, LINKS),
    DRIVER_CALL(cuLinkAddFile, PREPARES, NULL, LINKS),
    DRIVER_CALL(cuLinkAddFile_v2, PREPARES, NULL, LINKS),
    DRIVER_CALL(cuLinkComplete, PREPARES, NULL, LINKS),
    DRIVER_CALL(cuDevicePrimaryCtxRetain, PREPARES, NULL, MAKES_CONTEXT),
    DRIVER_CALL(cuCtxCreate, PREPARES, NULL, MAKES_CONTEXT),
    DRIVER_CALL(cuCtxCreate_v2, PREPARES, NULL, MAKES_CONTEXT),
    DRIVER_CALL(cuCtxCreate_v3, PREPARES, NULL, MAKES_CONTEXT),
    DRIVER_CALL(cuCtxCreate_v4, PREPARES, NULL, MAKES_CONTEXT),
    DRIVER_CALL(cuModuleGetFunction, PREPARES | GETS, note_module_function, LOADS_FUNCTION),
    DRIVER_CALL(cuFuncLoad, PREPARES, NULL, LOADS_FUNCTION),
    DRIVER_CALL(cuLibraryGetModule, PREPARES, NULL, LOADS_FUNCTION),
    DRIVER_CALL(cuKernelGetFunction, PREPARES | GETS, note_function, .trigger = loads_kernel),
    DRIVER_CALL(cuLibraryGetKernel, PHASE_KINDS | GETS, note_kernel),
    DRIVER_CALL(cuLibraryEnumerateKernels, GETS, note_kernels),
    DRIVER_CALL(cuModuleEnumerateFunctions, GETS, note_functions),
};

const struct driver_calls code_calls = DRIVER_CALLS(rows);
