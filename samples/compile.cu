/*
 * compile: code that is prepared while the program runs. Its own kernels, which CUDA loads at their first launch; PTX
 * that is compiled and, the second time, found in the cache; PTX that is linked; graphs that are captured, one inside
 * the other, forked over two streams and broken, and instantiated; and all of it by several threads at once.
 *
 * A correct trace has a slice for each of these on its rows "compilation", from the call that began it to the one that
 * ended it, and under those in which PTX was compiled what the compiler did: compile, load from the cache, store there.
 * The cache is the program's own: a folder that it makes before CUDA starts, and removes at its end.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <ftw.h>
#include <pthread.h>
#include <unistd.h>

#include "statement.h"

enum { THREADS = 4, LAUNCHES = 3, BYTES = 4096 };

static char cache[] = "/tmp/gputrace-compile.XXXXXX";
static bool has_own_code; /* this program's kernels need no compiling for the device */

__global__ void first(int *data)
{
    data[threadIdx.x] += 1;
}

__global__ void second(int *data)
{
    data[threadIdx.x] += 2;
}

/* The runtime makes these calls too, for kernels of its own accord: at least one. */
#define CALL_TOO(call)                                                         \
    do {                                                                       \
        char statement_what[80] = "api ";                                      \
        CHECK(call);                                                           \
        statement_name(statement_what + 4, sizeof(statement_what) - 4, #call); \
        state_range(statement_what, 1, UINT64_MAX, false, 0);                  \
    } while (0)

/* --- the cache --- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static void cache_remove(void)
{
    nftw(cache, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void cache_make(void)
{
    if (!mkdtemp(cache)) {
        perror(cache);
        exit(1);
    }
    atexit(cache_remove);
    setenv("CUDA_CACHE_PATH", cache, 1);
    unsetenv("CUDA_CACHE_DISABLE");
}

/* --- kernels of the program itself --- */

static void launch_own(int *data)
{
    for (int i = 0; i < LAUNCHES; i++) {
        LAUNCH(first<<<1, 32>>>(data));
        LAUNCH(second<<<1, 32>>>(data));
    }
    did_compile("Module load", 1);        /* all of the program's code, at the first launch */
    did_compile("Lazy function load", 2); /* each kernel, at its own */
    if (!has_own_code) {
        did_compile("JIT compile", 1);
        did_compile_range("JIT cache store", 0, 1);
    }
}

/* --- PTX --- */

struct text {
    char ptx[512], name[32];
};

/* PTX of a kernel of this name, which makes it another text than any other. */
static struct text text_of(const char *name, int number)
{
    struct text text;
    snprintf(text.name, sizeof(text.name), "%s_%d", name, number);
    snprintf(text.ptx, sizeof(text.ptx),
             ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry %s()\n{\n    ret;\n}\n", text.name);
    return text;
}

static void did_compile_ptx(void)
{
    did_compile("PTX compilation", 1);
    did_compile("JIT compile", 1);
    did_compile("JIT cache store", 1);
}

static void launch_function(CUfunction function, const char *name, CUstream stream)
{
    CALL(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    did_kernels(name, 1);
}

static CUmodule load_new(const struct text *text)
{
    CUmodule module;
    CALL(cuModuleLoadData(&module, text->ptx));
    did_compile_ptx();
    return module;
}

static void launch_from(CUmodule module, const char *name, CUstream stream)
{
    CUfunction function;
    CALL(cuModuleGetFunction(&function, module, name));
    did_compile("Lazy function load", 1);
    launch_function(function, name, stream);
}

static void load_modules(void)
{
    static const char junk[] = "this is no code for any device";
    struct text text = text_of("module", 0), other = text_of("module", 1);
    CUmodule module = load_new(&text), again, options;
    launch_from(module, text.name, NULL);
    for (int i = 0; i < 2; i++) {
        CALL(cuModuleLoadData(&again, text.ptx)); /* the same: it is in the cache by now */
        did_compile("PTX compilation", 1);
        did_compile("JIT cache load", 1);
        CALL(cuModuleUnload(again));
    }
    CALL(cuModuleLoadDataEx(&options, other.ptx, 0, NULL, NULL));
    did_compile_ptx();
    CALL_FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&again, junk));
    did_compile("Module load", 1);
    CALL(cuCtxSynchronize());
    CALL(cuModuleUnload(options));
    CALL(cuModuleUnload(module));
}

static void load_library(void)
{
    struct text text = text_of("library", 0);
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CALL_TOO(cuLibraryLoadData(&library, text.ptx, NULL, NULL, 0, NULL, NULL, 0));
    did_compile_ptx();
    CALL_TOO(cuLibraryGetKernel(&kernel, library, text.name));
    QUERY(cuKernelGetFunction(&function, kernel));
    did_compile("Lazy function load", 1);
    launch_function(function, text.name, NULL);
    CALL(cuCtxSynchronize());
    CALL(cuLibraryUnload(library));
}

/* Two texts made one piece of code, which is loaded then. CUDA may keep what it compiles here in the cache, or not. */
static void link_parts(void)
{
    struct text parts[2] = {text_of("linked", 0), text_of("linked", 1)};
    CUlinkState state;
    CUmodule module;
    void *code;
    size_t size;
    CALL(cuLinkCreate(0, NULL, NULL, &state));
    for (int i = 0; i < 2; i++) {
        CALL(cuLinkAddData(state, CU_JIT_INPUT_PTX, parts[i].ptx, strlen(parts[i].ptx) + 1, parts[i].name, 0, NULL,
                           NULL));
        did_compile("Linking", 1);
        did_compile("JIT compile", 1);
        did_compile_range("JIT cache store", 0, 1);
    }
    CALL(cuLinkComplete(state, &code, &size));
    did_compile("Linking", 1);
    CALL(cuModuleLoadData(&module, code));
    did_compile("Module load", 1);
    CALL(cuLinkDestroy(state));
    launch_from(module, parts[1].name, NULL);
    CALL(cuCtxSynchronize());
    CALL(cuModuleUnload(module));
}

/* --- graphs --- */

static void begin(cudaStream_t stream)
{
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    did_compile("Graph capture", 1);
}

static cudaGraph_t end(cudaStream_t stream)
{
    cudaGraph_t graph;
    CALL(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void run_graph(cudaGraph_t graph, cudaStream_t stream)
{
    cudaGraphExec_t exec;
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    did_compile("Graph instantiation", 1);
    CALL(cudaGraphLaunch(exec, stream));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
}

static void capture_forked(int *data, cudaStream_t stream, cudaStream_t branch)
{
    cudaEvent_t forked, joined;
    CALL(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CALL(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    begin(stream);
    CALL(cudaEventRecord(forked, stream));
    CALL(cudaStreamWaitEvent(branch, forked, 0)); /* which makes it a part of this capture, and no other phase */
    CAPTURE_LAUNCH(first<<<1, 32, 0, stream>>>(data));
    CAPTURE_LAUNCH(second<<<1, 32, 0, branch>>>(data + 32));
    CALL(cudaEventRecord(joined, branch));
    CALL(cudaStreamWaitEvent(stream, joined, 0));
    run_graph(end(stream), stream);
    did_kernels("first", 1);
    did_kernels("second", 1);
    CALL(cudaEventDestroy(forked));
    CALL(cudaEventDestroy(joined));
}

/* Two captures at once, the one begun first ending last. */
static void capture_nested(int *data, cudaStream_t outer, cudaStream_t inner)
{
    begin(outer);
    CAPTURE_LAUNCH(first<<<1, 32, 0, outer>>>(data));
    begin(inner);
    CAPTURE_LAUNCH(second<<<1, 32, 0, inner>>>(data));
    cudaGraph_t graph = end(inner);
    run_graph(end(outer), outer);
    run_graph(graph, inner);
    did_kernels("first", 1);
    did_kernels("second", 1);
}

static void capture_broken(cudaStream_t stream)
{
    cudaGraph_t graph;
    begin(stream);
    CALL_FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    CALL_FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    (void)cudaGetLastError();
}

static void graphs(int *data)
{
    cudaStream_t stream, branch;
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CALL(cudaStreamCreateWithFlags(&branch, cudaStreamNonBlocking));
    capture_forked(data, stream, branch);
    capture_nested(data, stream, branch);
    capture_broken(stream);
    CALL(cudaStreamDestroy(stream));
    CALL(cudaStreamDestroy(branch));
}

/* --- several threads --- */

static pthread_barrier_t together;
static int *thread_data;

static void *compile_in_thread(void *number)
{
    struct text text = text_of("thread", *(const int *)number);
    cudaStream_t stream;
    CHECK(cudaSetDevice(0));
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    pthread_barrier_wait(&together);
    CUmodule module = load_new(&text);
    launch_from(module, text.name, stream);
    pthread_barrier_wait(&together);
    begin(stream);
    CAPTURE_LAUNCH(first<<<1, 32, 0, stream>>>(thread_data));
    run_graph(end(stream), stream);
    did_kernels("first", 1);
    CALL(cudaStreamDestroy(stream));
    CALL(cuModuleUnload(module));
    return NULL;
}

static void threads(int *data)
{
    pthread_t thread[THREADS];
    int number[THREADS];
    thread_data = data;
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, compile_in_thread, &number[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

int main()
{
    int major = 0, *data;
    cache_make();
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    has_own_code = major == 9;
    CALL(cudaMalloc((void **)&data, BYTES));
    did_allocate("Device", BYTES);

    launch_own(data);
    load_modules();
    load_library();
    link_parts();
    graphs(data);
    threads(data);

    CALL(cudaFree(data));
    did_release("Device", BYTES);
    printf("loaded, compiled, linked, captured\n");
    state_print();
    return 0;
}
