/*
 * Operators of PyTorch, by torch_library.cc: torch_operators LIBRARY HOW [COUNT]
 *
 *     loaded    the library is loaded before CUDA is used: operators of two threads, one that ends on another thread,
 *               and GPU work in them
 *     late      it is loaded after that, and operators follow once callbacks are registered, or two seconds later
 *     killed    a SIGKILL within an operator
 *     profiled  PyTorch's own profiler runs on the thread, which waits for the device before it ends
 *     waiting   the same without the profiler
 *     forked    a child has operators, too, before it does anything else
 *     names     COUNT operators with a name each
 *     many      COUNT operators of one name
 *     compiled  launches of kernels in and beside compiled code
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"
#include "torch_fake.h"

static __typeof__(fake_callbacks) *callbacks;
static __typeof__(fake_begin) *begin;
static __typeof__(fake_end) *end;
static __typeof__(fake_profile) *profile;

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(9);
    }
    callbacks = (__typeof__(callbacks))dlsym(library, "fake_callbacks");
    begin = (__typeof__(begin))dlsym(library, "fake_begin");
    end = (__typeof__(end))dlsym(library, "fake_end");
    profile = (__typeof__(profile))dlsym(library, "fake_profile");
}

static void *pass_back(void *step)
{
    struct fake_operator outer, inner;
    begin(&outer, FAKE_FUNCTION, "autograd::engine::evaluate_function: AddmmBackward0", -1, 0);
    begin(&inner, FAKE_BACKWARD, "AddmmBackward0", 5, 1);
    end(&inner);
    end(&outer);
    end(step);
    return NULL;
}

static void train(void)
{
    struct fake_operator step, outer, inner;
    pthread_t backward;
    begin(&step, FAKE_USER, "step", -1, 0);
    begin(&outer, FAKE_FUNCTION, "aten::linear", 5, 0);
    begin(&inner, FAKE_FUNCTION, "aten::addmm", 5, 0);
    gpu_work(1);
    end(&inner);
    end(&outer);
    pthread_create(&backward, NULL, pass_back, &step);
    pthread_join(backward, NULL);
}

/* --- compiled code --- */

static CUmodule kernels;

static void launch(const char *name)
{
    CUfunction function;
    MUST(cuModuleGetFunction(&function, kernels, name));
    MUST(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void launch_in(const char *operator, const char * kernel)
{
    struct fake_operator one;
    begin(&one, FAKE_FUNCTION, operator, - 1, 0);
    launch(kernel);
    end(&one);
}

static void *pass_compiled_back(void *context)
{
    struct fake_operator outer, inner;
    MUST(cuCtxSetCurrent(context));
    begin(&outer, FAKE_FUNCTION, "autograd::engine::evaluate_function: CompiledFunctionBackward", -1, 0);
    begin(&inner, FAKE_BACKWARD, "CompiledFunctionBackward", 5, 1);
    launch("triton_red_fused_sum_1");
    end(&inner);
    end(&outer);
    return NULL;
}

/* As torch.compile() does it, and beside that as a program does that has kernels of its own in Triton. */
static void train_compiled(void)
{
    struct fake_operator step, region, inner;
    pthread_t backward;
    CUcontext context;
    char text[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                  ".visible .entry triton_poi_fused_add_0()\n{\nret;\n}\n"
                  ".visible .entry triton_red_fused_sum_1()\n{\nret;\n}\n"
                  ".visible .entry triton_own()\n{\nret;\n}\n";
    MUST(cuModuleLoadData(&kernels, text));
    MUST(cuCtxGetCurrent(&context));
    begin(&step, FAKE_USER, "step", -1, 0);
    begin(&region, FAKE_FUNCTION, "Torch-Compiled Region: 0/0", -1, 0);
    begin(&inner, FAKE_FUNCTION, "CompiledFunction", 5, 0);
    launch("triton_poi_fused_add_0");
    launch_in("aten::addmm", "triton_own");
    launch("triton_own");
    launch("triton_poi_fused_add_0");
    end(&inner);
    launch("triton_red_fused_sum_1");
    end(&region);
    launch_in("mine::op", "triton_poi_fused_add_0");
    launch("triton_poi_fused_add_0");
    end(&step);
    pthread_create(&backward, NULL, pass_compiled_back, context);
    pthread_join(backward, NULL);
    MUST(cuCtxSynchronize());
}

static void fork_one(void)
{
    struct fake_operator one;
    pid_t child = fork();
    begin(&one, FAKE_FUNCTION, child == 0 ? "of the child" : "of the parent", -1, 0);
    end(&one);
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
}

/* As torch.profiler: it waits, and then it ends. */
static void wait_in_profiler(bool profiled)
{
    for (int i = 0; i < 3; i++) {
        profile(profiled);
        gpu_work(1);
        if (cuCtxSynchronize() != CUDA_SUCCESS)
            exit(8);
        profile(false);
    }
}

static void repeat(const char *how, long count)
{
    struct fake_operator one;
    char name[64] = "one";
    for (long i = 0; i < count; i++) {
        if (strcmp(how, "names") == 0)
            snprintf(name, sizeof(name), "name %ld", i);
        begin(&one, FAKE_FUNCTION, name, -1, 0);
        end(&one);
    }
}

int main(int argc, char **argv)
{
    struct fake_operator open;
    const char *how = argc > 2 ? argv[2] : "loaded";
    if (strcmp(how, "late") != 0)
        load(argv[1]);
    gpu_start();
    if (strcmp(how, "late") == 0) {
        load(argv[1]);
        for (int i = 0; i < 200 && callbacks && callbacks() == 0; i++)
            usleep(10000);
    }
    if (!begin) /* it is another library */
        gpu_work(1);
    else if (strcmp(how, "forked") == 0)
        fork_one();
    else if (strcmp(how, "profiled") == 0 || strcmp(how, "waiting") == 0)
        wait_in_profiler(*how == 'p');
    else if (strcmp(how, "compiled") == 0)
        train_compiled();
    else if (argc > 3)
        repeat(how, atol(argv[3]));
    else if (strcmp(how, "killed") == 0)
        begin(&open, FAKE_USER, "open", -1, 0);
    if (begin && argc <= 3)
        train();
    printf("%u callbacks\n", callbacks ? callbacks() : 0);
    fflush(stdout);
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    return 0;
}
