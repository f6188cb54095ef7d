#include "tests/unit.h"

#include "common/buffer.h"
#include "trace/frames.h"

static enum frame_owner owner_of(const char *function, const char *file, const char *module)
{
    return frame_owner(&(struct stack_frame){.function = function, .file = file, .module = module});
}

UNIT_TEST(a_frame_belongs_to_the_program_unless_it_is_known_to_be_a_librarys)
{
    assert_int_equal(owner_of("main", "/src/a.cu", "/bin/app"), FRAME_PROGRAM);
    assert_int_equal(owner_of("f", NULL, "/opt/mine/libmodel.so"), FRAME_PROGRAM);
    assert_int_equal(owner_of(NULL, NULL, NULL), FRAME_LIBRARY);
    assert_int_equal(owner_of("cuLaunchKernel", NULL, "/usr/lib/libcuda.so.1"), FRAME_CUDA);
    assert_int_equal(owner_of("cudaLaunchKernel", NULL, "/usr/lib/libcudart.so.13"), FRAME_CUDA);
    assert_int_equal(owner_of("cudaLaunchKernel", NULL, "/bin/app"), FRAME_CUDA); /* linked into the program */
    assert_int_equal(owner_of("cudaLike", "/src/a.cu", "/bin/app"), FRAME_PROGRAM);
    assert_int_equal(owner_of("libcudart_static_0123", NULL, "/bin/app"), FRAME_CUDA);
    assert_int_equal(owner_of("gemm", NULL, "/usr/lib/libcublasLt.so.13"), FRAME_LIBRARY);
    assert_int_equal(owner_of("at::add", NULL, "/x/lib/libtorch_cpu.so"), FRAME_LIBRARY);
    assert_int_equal(owner_of("f", NULL, "/venv/lib/python3.12/site-packages/flash/_C.so"), FRAME_LIBRARY);
    assert_int_equal(owner_of("_PyEval_EvalFrameDefault", NULL, "/usr/bin/python3.12"), FRAME_LIBRARY);
    assert_int_equal(owner_of("__libc_start_main", NULL, "/lib/libc.so.6"), FRAME_LIBRARY);
    assert_int_equal(owner_of("_start", NULL, "/bin/app"), FRAME_LIBRARY);
    assert_int_equal(owner_of("__device_stub__Z1kv()", NULL, "/bin/app"), FRAME_STUB);
    /* Python's */
    assert_int_equal(owner_of("step", "/home/me/train.py", "python"), FRAME_SCRIPT);
    assert_int_equal(owner_of("step", "/home/me/lib/python/train.py", "python"), FRAME_SCRIPT);
    assert_int_equal(owner_of("cudaMalloc", "mine.py", "python"), FRAME_SCRIPT);
    assert_int_equal(owner_of("f", "<string>", "python"), FRAME_PYTHON_NO_FILE);
    assert_int_equal(owner_of("forward", "/venv/lib/python3.12/site-packages/torch/nn/x.py", "python"),
                     FRAME_PYTHON_LIBRARY);
    assert_int_equal(owner_of("f", "/usr/lib/python3/dist-packages/torch/x.py", "python"), FRAME_PYTHON_LIBRARY);
    assert_int_equal(owner_of("run", "/usr/lib/python3.12/threading.py", "python"), FRAME_PYTHON_LIBRARY);
    assert_int_equal(owner_of("call", "/tmp/torchinductor_me/ab/cab.py", "python"), FRAME_PYTHON_LIBRARY);
    assert_int_equal(owner_of("run", "<frozen runpy>", "python"), FRAME_PYTHON_LIBRARY);
    assert_int_equal(owner_of(NULL, NULL, "python"), FRAME_PYTHON_LIBRARY);
}

#define FRAME(name, in) {.function = (name), .module = (in)}
#define PLACE(...)                                                \
    stack_frames_place((const struct stack_frame[]){__VA_ARGS__}, \
                       sizeof((const struct stack_frame[]){__VA_ARGS__}) / sizeof(struct stack_frame))

UNIT_TEST(a_stack_is_known_by_the_innermost_frame_of_the_program)
{
    const char *app = "/bin/app", *cuda = "/lib/libcuda.so.1", *torch = "/lib/libtorch.so";
    assert_int_equal(PLACE(FRAME("cuLaunch", cuda), FRAME("f", torch), FRAME("work", app), FRAME("main", app)), 2);
    assert_int_equal(PLACE(FRAME("main", app)), 0);
    /* what reported the call comes before CUDA, and is not the place */
    assert_int_equal(PLACE(FRAME("report", "/lib/libmine.so"), FRAME("cuLaunch", cuda), FRAME("work", app)), 2);
    /* a kernel's launch: what is named as the kernel was made by nvcc */
    assert_int_equal(PLACE(FRAME("cuLaunch", cuda), FRAME("__device_stub__Z1kv()", app), FRAME("k()", app),
                           FRAME("work", app), FRAME("main", app)),
                     3);
    /* none is the program's: the innermost that is not CUDA's */
    assert_int_equal(PLACE(FRAME("cuLaunch", cuda), FRAME("f", torch), FRAME("_start", app)), 1);
    assert_int_equal(PLACE(FRAME("cuLaunch", cuda)), 0);
}

#define LINE(name, in) {.function = (name), .file = (in), .module = FRAME_PYTHON}

UNIT_TEST(a_stack_with_python_is_known_by_the_users_line)
{
    const char *torch = "/v/site-packages/torch/nn/x.py", *app = "/opt/mine/libmodel.so", *mine = "/home/me/train.py";
    assert_int_equal(
        PLACE(FRAME("f", "/lib/libtorch.so"), LINE("forward", torch), LINE("step", mine), LINE("train", mine)), 2);
    assert_int_equal(PLACE(FRAME("model", app), LINE("forward", torch), LINE("step", mine)), 2);
    assert_int_equal(PLACE(FRAME("model", app), LINE("forward", torch)), 0);
    assert_int_equal(PLACE(FRAME("f", "/lib/libtorch.so"), LINE("forward", torch), LINE("<module>", "<string>")), 2);
    assert_int_equal(PLACE(FRAME("f", "/lib/libtorch.so"), LINE("forward", torch), LINE("run", torch)), 1);
}

static void assert_place(const struct stack_frame frame, const char *expected)
{
    struct buffer text;
    buffer_init_memory(&text);
    frame_put_place(&text, &frame);
    buffer_char(&text, '\0');
    assert_string_equal(text.data, expected);
    buffer_release(&text);
}

UNIT_TEST(a_place_has_as_much_as_is_known)
{
    assert_place((struct stack_frame){.function = "f", .file = "/src/a.cu", .line = 7, .module = "/bin/app"},
                 "f (a.cu:7)");
    assert_place((struct stack_frame){.function = "f", .module = "/bin/app", .offset = 16}, "f (app+0x10)");
    assert_place((struct stack_frame){.module = "/bin/app", .offset = 16}, "app+0x10");
    assert_place((struct stack_frame){.address = 0x7f00}, "0x7f00");
    assert_place((struct stack_frame){.function = "f", .address = 0x7f00}, "f");
}

UNIT_MAIN(NULL, NULL)
