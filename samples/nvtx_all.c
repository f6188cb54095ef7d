/*
 * nvtx_all: every function of nvToolsExt.h, nvToolsExtCuda.h, nvToolsExtCudaRt.h, nvToolsExtOpenCL.h and
 * nvToolsExtSync.h, with GPU work in ranges of every sort. `nvtx` shows texts, payloads and categories more closely.
 *
 * A correct trace holds: ranges and marks of every function, those of the shared library too, in one domain with the
 * program's; attributes of structs that are longer and shorter than NVTX's; ranges left open, and counts of pops, ends
 * and releases without a beginning; who waited for which synchronisation object, and held it; names of threads, of the
 * device, its context, streams and events; resources of every type; and on the GPU's rows the spans of ranges whose
 * work was started by a call, a graph, or two threads one after the other.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtOpenCL.h>
#include <nvtx3/nvToolsExtSync.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include "nvtx_all_library.h"
#include "statement.h"

#define BYTES ((size_t)1 << 20)

static nvtxDomainHandle_t domain;
static cudaStream_t stream, other;
static void *memory;

static uint32_t this_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "nvtx_all: %s\n", what);
    exit(1);
}

/* What push and pop give: the depth, or that nobody counts it. */
static void depth_is(int depth, int wanted)
{
    must(depth == wanted || depth == NVTX_NO_PUSH_POP_TRACKING, "push or pop gave another depth than there is");
}

static void did(const char *what, const char *totals, const char *words)
{
    state("nvtx %s %s", what, words);
    state_count(totals, 1);
}

static void did_push(const char *words)
{
    did("push", "pushes", words);
}

static void did_start(const char *words)
{
    did("start", "starts", words);
}

static void did_mark(const char *words)
{
    did("mark", "marks", words);
}

static nvtxEventAttributes_t event_of(const char *message)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = message}};
}

/* --- nvToolsExt.h --- */

static void core(void)
{
    nvtxEventAttributes_t event = event_of("mark by attributes");
    nvtxMarkEx(&event);
    did_mark("\"mark by attributes\"");
    nvtxMarkA("mark");
    did_mark("\"mark\"");
    nvtxMarkW(L"Marke \u00e4");
    did_mark("\"Marke ä\"");

    event = event_of("push by attributes");
    depth_is(nvtxRangePushEx(&event), 0);
    did_push("\"push by attributes\"");
    depth_is(nvtxRangePushA("push"), 1);
    did_push("\"push\"");
    depth_is(nvtxRangePushW(L"Schritt \u00e4"), 2);
    did_push("\"Schritt ä\"");
    for (int depth = 2; depth >= 0; depth--)
        depth_is(nvtxRangePop(), depth);

    event = event_of("start by attributes");
    nvtxRangeId_t ranges[] = {nvtxRangeStartEx(&event), nvtxRangeStartA("start"), nvtxRangeStartW(L"Beginn \u00e4")};
    did_start("\"start by attributes\"");
    did_start("\"start\"");
    did_start("\"Beginn ä\"");
    for (int i = 0; i < 3; i++)
        nvtxRangeEnd(ranges[i]);
    nvtxNameCategoryA(1, "the first");
    nvtxNameCategoryW(2, L"die zweite");
    event = event_of("categories");
    for (event.category = 1; event.category <= 3; event.category++)
        nvtxMarkEx(&event);
    did_mark("\"categories\" category \"the first\"");
    did_mark("\"categories\" category \"die zweite\"");
    did_mark("\"categories\" category 3");
}

static void core_of_a_domain(void)
{
    nvtxEventAttributes_t event = event_of("mark of a domain");
    nvtxDomainMarkEx(domain, &event);
    did_mark("\"mark of a domain\" domain \"everything\"");
    event = event_of("push of a domain");
    depth_is(nvtxDomainRangePushEx(domain, &event), 0);
    did_push("\"push of a domain\" domain \"everything\"");
    depth_is(nvtxRangePushA("push of no domain"), 0);
    did_push("\"push of no domain\"");
    depth_is(nvtxDomainRangePop(domain), 0); /* before the one that was pushed in it */
    depth_is(nvtxRangePop(), 0);
    event = event_of("start of a domain");
    nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &event));
    did_start("\"start of a domain\" domain \"everything\"");
    nvtxDomainNameCategoryA(domain, 1, "the first of all");
    nvtxDomainNameCategoryW(domain, 2, L"die zweite von allen");
    event = event_of("categories");
    for (event.category = 1; event.category <= 2; event.category++)
        nvtxDomainMarkEx(domain, &event);
    did_mark("\"categories\" domain \"everything\" category \"the first of all\"");
    did_mark("\"categories\" domain \"everything\" category \"die zweite von allen\"");
    event.category = 0;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainMarkEx(domain, &event);
    did_mark("\"registered\" domain \"everything\"");
    event.message.registered = nvtxDomainRegisterStringW(domain, L"registriert \u00e4");
    nvtxDomainMarkEx(domain, &event);
    did_mark("\"registriert ä\" domain \"everything\"");
}

/* Structs of other versions: longer, and cut before the message, the payload, the colour. */
static void attributes_of_other_sizes(void)
{
    struct {
        nvtxEventAttributes_t known;
        uint64_t unknown[4];
    } longer = {.known = event_of("longer"), .unknown = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    longer.known.size = sizeof(longer);
    nvtxMarkEx(&longer.known);
    did_mark("\"longer\"");

    nvtxEventAttributes_t event = event_of("too short for this");
    event.category = 1;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff102030;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -5;
    event.size = offsetof(nvtxEventAttributes_t, message);
    nvtxMarkEx(&event);
    did_mark("\"(no message)\" category \"the first\" color \"#102030\" payload -5");
    event.size = offsetof(nvtxEventAttributes_t, payload);
    nvtxMarkEx(&event);
    did_mark("\"(no message)\" category \"the first\" color \"#102030\"");
    event.size = offsetof(nvtxEventAttributes_t, color);
    nvtxMarkEx(&event);
    did_mark("\"(no message)\" category \"the first\"");
    event.size = 0;
    nvtxMarkEx(&event);
    did_mark("\"(no message)\"");
}

/* The program and its library have one domain, with one stack on each thread. */
static void two_modules(void)
{
    library_open("everything");
    library_work();
    did_push("\"in the library\" domain \"everything\" category \"from the library\"");
    did_mark("\"a mark of the library's\"");
    nvtxEventAttributes_t event = event_of("pushed here, popped there");
    depth_is(nvtxDomainRangePushEx(domain, &event), 0);
    depth_is(library_pop(), 0);
    did_push("\"pushed here, popped there\" domain \"everything\"");
    library_end(nvtxRangeStartA("started here, ended there"));
    did_start("\"started here, ended there\"");
    library_close();
    event = event_of("after one of two was destroyed");
    nvtxDomainMarkEx(domain, &event);
    did_mark("\"after one of two was destroyed\" domain \"everything\"");
}

static void loose_ends(void)
{
    must(nvtxRangePop() < 0, "a pop without a push gave a depth");
    nvtxRangeEnd(UINT64_C(1) << 60);
    state_count("loss unmatched_ranges", 2);
    nvtxRangePushA("left open");
    did_push("\"left open\"");
    nvtxRangeStartA("never ended");
    did_start("\"never ended\"");
    state("open \"left open\"");
    state("open \"never ended\"");
}

/* --- resources --- */

struct thing {
    uint32_t type;
    uint64_t identifier;
    const char *name, *type_name;
};

static nvtxResourceHandle_t create(const struct thing *thing)
{
    nvtxResourceAttributes_t attributes = {.version = NVTX_VERSION,
                                           .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE,
                                           .identifierType = (int32_t)thing->type,
                                           .identifier = {.ullValue = thing->identifier},
                                           .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                           .message = {.ascii = thing->name}};
    state("resource %s \"%s\" domain \"everything\"", thing->type_name, thing->name);
    return nvtxDomainResourceCreate(domain, &attributes);
}

static void resources(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uintptr_t at = (uintptr_t)&mutex;
    const struct thing things[] = {
        {NVTX_RESOURCE_TYPE_GENERIC_POINTER, at, "a pointer", "pointer"},
        {NVTX_RESOURCE_TYPE_GENERIC_HANDLE, 42, "a handle", "handle"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_MUTEX, at, "a mutex of POSIX", "pthread mutex"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_CONDITION, at, "a condition", "pthread condition"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_RWLOCK, at, "a lock for readers", "pthread rwlock"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_BARRIER, at, "a barrier", "pthread barrier"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_SPINLOCK, at, "a spinlock of POSIX", "pthread spinlock"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_ONCE, at, "a once", "pthread once"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_MUTEX, at, "a mutex", "mutex"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_FUTEX, at, "a futex", "futex"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_SEMAPHORE, at, "a semaphore", "semaphore"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_COMPLETION, at, "a completion", "completion"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_SPINLOCK, at, "a spinlock", "spinlock"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_SEQLOCK, at, "a seqlock", "seqlock"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_RCU, at, "an RCU", "RCU"},
        {0x00770001, 7, "of a type of its own", "7798785"},
    };
    for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
        nvtxDomainResourceDestroy(create(&things[i]));
        state("destroyed %s \"%s\" domain \"everything\"", things[i].type_name, things[i].name);
    }
}

/* Named by NVTX's own functions; NVTX has no way to say that they are gone. */
static void opencl(void)
{
    uintptr_t next = 0x1000;
#define NAME(function, type, what)                          \
    nvtxNameCl##function##A((type)next++, "ein " what);     \
    state("resource OpenCL %s \"ein " what "\"", (what));   \
    nvtxNameCl##function##W((type)next++, L"\u00e4 " what); \
    state("resource OpenCL %s \"ä " what "\"", (what))
    NAME(Device, cl_device_id, "device");
    NAME(Context, cl_context, "context");
    NAME(CommandQueue, cl_command_queue, "queue");
    NAME(MemObject, cl_mem, "memory");
    NAME(Sampler, cl_sampler, "sampler");
    NAME(Program, cl_program, "program");
    NAME(Event, cl_event, "event");
#undef NAME
}

/* --- nvToolsExtSync.h --- */

static nvtxSyncUser_t lock;

static void *wait_in_vain(void *unused)
{
    (void)unused;
    nvtxNameOsThreadW(this_thread(), L"der Wartende");
    did_name_row("der Wartende");
    nvtxDomainSyncUserAcquireStart(lock);
    usleep(300);
    nvtxDomainSyncUserAcquireFailed(lock);
    did_push("\"acquiring the lock\" domain \"everything\" failed");
    return NULL;
}

static void *give_back(void *unused)
{
    nvtxDomainSyncUserReleasing(lock);
    return unused;
}

static void on_another_thread(void *(*run)(void *), void *argument, const char *name)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, run, argument) == 0, "cannot start a thread");
    if (name) {
        create(&(struct thing){NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX, (uint64_t)thread, name, "POSIX thread"});
        did_name_row(name);
    }
    pthread_join(thread, NULL);
}

static void synchronisation(void)
{
    nvtxSyncUserAttributes_t attributes = {.version = NVTX_VERSION,
                                           .size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE,
                                           .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                           .message = {.ascii = "the lock"}};
    lock = nvtxDomainSyncUserCreate(domain, &attributes);
    state("resource synchronisation object \"the lock\" domain \"everything\"");
    nvtxDomainSyncUserAcquireStart(lock);
    usleep(100);
    nvtxDomainSyncUserAcquireSuccess(lock);
    did_push("\"acquiring the lock\" domain \"everything\"");
    on_another_thread(wait_in_vain, NULL, NULL);
    on_another_thread(give_back, NULL, NULL);
    did_start("\"holding the lock\" domain \"everything\"");
    nvtxDomainSyncUserReleasing(lock);
    state_count("loss unmatched_ranges", 1);
    nvtxDomainSyncUserDestroy(lock);
    state("destroyed synchronisation object \"the lock\" domain \"everything\"");
}

/* --- CUDA: names, and ranges on the GPU --- */

static void set(cudaStream_t where)
{
    CALL(cudaMemsetAsync(memory, 0, BYTES, where));
    did_set(BYTES);
}

static void *finish(void *range)
{
    set(stream);
    nvtxRangeEnd(*(nvtxRangeId_t *)range);
    set(stream); /* no longer in it */
    return NULL;
}

static void did_gpu_range(const char *name)
{
    state("nvtx gpu \"%s\"", name);
}

static void ranges_on_the_gpu(void)
{
    nvtxRangePushA("step");
    did_push("\"step\"");
    set(stream);
    nvtxRangePushA("inner step");
    did_push("\"inner step\"");
    set(stream);
    set(other);
    nvtxRangePop();
    nvtxRangePop();
    did_gpu_range("step"); /* on both streams */
    did_gpu_range("step");
    did_gpu_range("inner step");
    did_gpu_range("inner step");

    nvtxRangeId_t request = nvtxRangeStartA("request");
    did_start("\"request\"");
    set(stream);
    on_another_thread(finish, &request, "the finisher");
    did_gpu_range("request");
}

static void a_graph_in_a_range(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CALL(cudaMemsetAsync(memory, 0, BYTES, stream));
    CALL(cudaMemsetAsync(memory, 1, BYTES, stream));
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    nvtxRangePushA("graph");
    did_push("\"graph\"");
    CALL(cudaGraphLaunch(exec, stream));
    did_sets(2, 2 * BYTES);
    nvtxRangePop();
    did_gpu_range("graph");
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
}

/* The last name counts. */
static void names_of_places(void)
{
    CUcontext context;
    must(cuCtxGetCurrent(&context) == CUDA_SUCCESS, "there is no context");
    nvtxNameCudaDeviceA(0, "first name");
    nvtxNameCudaDeviceW(0, L"zweiter Name");
    nvtxNameCuDeviceA(0, "third name");
    nvtxNameCuDeviceW(0, L"die GPU \u00e4");
    did_name_row("die GPU ä");
    nvtxNameCuContextA(context, "first name");
    nvtxNameCuContextW(context, L"der Kontext \u00e4");
    did_name_row("der Kontext ä");
    nvtxNameCuStreamA((CUstream)stream, "first name");
    nvtxNameCuStreamW((CUstream)stream, L"zweiter Name");
    nvtxNameCudaStreamA(stream, "third name");
    nvtxNameCudaStreamW(stream, L"der Strom \u00e4");
    did_name_row("der Strom ä");
    create(&(struct thing){NVTX_RESOURCE_TYPE_CUDART_STREAM, (uint64_t)other, "a stream by resource", "CUDA stream"});
    did_name_row("a stream by resource");
    create(&(struct thing){NVTX_RESOURCE_TYPE_CUDA_CONTEXT, (uint64_t)(uintptr_t)context, "der Kontext ä",
                           "CUDA context"});
    create(&(struct thing){NVTX_RESOURCE_TYPE_CUDA_DEVICE, 0, "die GPU ä", "CUDA device"});
}

static void names_of_events(void)
{
    static const char *const names[] = {"by the driver", "vom Treiber", "by the runtime", "von der Laufzeit",
                                        "by resource"};
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    cudaEvent_t events[COUNT];
    for (int i = 0; i < COUNT; i++)
        CALL(cudaEventCreate(&events[i]));
    nvtxNameCuEventA((CUevent)events[0], names[0]);
    nvtxNameCuEventW((CUevent)events[1], L"vom Treiber");
    nvtxNameCudaEventA(events[2], names[2]);
    nvtxNameCudaEventW(events[3], L"von der Laufzeit");
    create(&(struct thing){NVTX_RESOURCE_TYPE_CUDA_EVENT, (uint64_t)(uintptr_t)events[4], names[4], "CUDA event"});
    for (int i = 0; i < COUNT; i++) {
        CALL(cudaEventRecord(events[i], stream));
        state("cuda-event \"%s\"", names[i]);
    }
    CALL(cudaStreamWaitEvent(other, events[0], 0));
    state("wait-on \"%s\"", names[0]);
    CALL(cudaEventSynchronize(events[4]));
    did_wait("Event Sync");
    state("wait-on \"%s\"", names[4]);
    for (int i = 0; i < COUNT; i++)
        CALL(cudaEventDestroy(events[i]));
}

static void cuda(void)
{
    CHECK(cudaSetDevice(0));
    CALL(cudaMalloc(&memory, BYTES));
    did_allocate("Device", BYTES);
    CALL(cudaStreamCreate(&stream));
    CALL(cudaStreamCreate(&other));
    names_of_places();
    names_of_events();
    ranges_on_the_gpu();
    a_graph_in_a_range();
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    CALL(cudaStreamDestroy(other));
    CALL(cudaStreamDestroy(stream));
    CALL(cudaFree(memory));
    did_release("Device", BYTES);
}

int main(void)
{
    nvtxInitialize(NULL);
    nvtxNameOsThreadA(this_thread(), "the first");
    did_name_row("the first");
    domain = nvtxDomainCreateA("everything");
    must(nvtxDomainCreateW(L"everything") == domain, "a domain of the same name is another one");
    core();
    core_of_a_domain();
    attributes_of_other_sizes();
    two_modules();
    resources();
    opencl();
    synchronisation();
    cuda();
    loose_ends();
    nvtxDomainDestroy(domain);
    puts("NVTX: all of it");
    state_print();
    return 0;
}
