#include "tests/unit.h"

#include <limits.h>

#include "common/buffer.h"
#include "analysis/render/stack_text.h"

static struct buffer out;

UNIT_FIXTURE(begin)
{
    buffer_init_memory(&out);
    return 0;
}

UNIT_FIXTURE(end)
{
    buffer_release(&out);
    return 0;
}

static const char *written(const struct stack_frame *frames, size_t count)
{
    out.length = 0;
    frames_write(&out, frames, count, "  ");
    buffer_char(&out, '\0');
    assert_int_equal(buffer_finish(&out), 0);
    return out.data;
}

UNIT_TEST_WITH(places_stand_below_each_other, begin, end)
{
    const struct stack_frame frames[] = {
        {.address = 1, .function = "allocate", .file = "/src/leak.cu", .line = 7, .module = "/bin/leak", .offset = 16},
        {.address = 2, .function = "run(int)", .module = "/lib/libwork.so.1", .offset = 0x1f0},
        {.address = 3, .module = "/lib/libwork.so.1", .offset = 0x200},
        {.address = 0x7f00, .file = NULL},
        {.address = 5, .function = "main", .file = "/src/leak.cu", .line = 42},
    };
    assert_string_equal(written(frames, 5), "  allocate  /src/leak.cu:7\n"
                                            "  run(int)  libwork.so.1+0x1f0\n"
                                            "  libwork.so.1+0x200\n"
                                            "  0x7f00\n"
                                            "  main      /src/leak.cu:42\n");
}

UNIT_TEST_WITH(sources_below_the_working_directory_are_distinguished_from_there, begin, end)
{
    char here[PATH_MAX], path[PATH_MAX + 16], beside[PATH_MAX + 16], expected[PATH_MAX + 64];
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(path, sizeof(path), "%s/x/leak.cu", here);
    snprintf(beside, sizeof(beside), "%s-not/leak.cu", here);
    const struct stack_frame frames[] = {{.function = "f", .file = path, .line = 1}, {.function = "g", .file = beside}};
    snprintf(expected, sizeof(expected), "  f  x/leak.cu:1\n  g  %s\n", beside);
    assert_string_equal(written(frames, 2), expected);
}

UNIT_TEST_WITH(cudas_own_frames_and_what_started_main_are_left_out, begin, end)
{
    const struct stack_frame frames[] = {
        {.module = "/usr/lib/libcupti.so.13", .offset = 1},
        {.function = "cuMemAlloc_v2", .module = "/usr/lib/libcuda.so.1", .offset = 2},
        {.function = "libcudart_static_0123456789abcdef", .module = "/bin/leak"},
        {.module = "/usr/lib/libcudart.so.13", .offset = 3},
        {.function = "cudaMalloc", .module = "/usr/lib/libcudart.so.13", .offset = 4},
        {.module = "/usr/lib/libcuda.so.1", .offset = 5}, /* deeper: it called the program */
        {.function = "main", .file = "/src/leak.cu", .line = 42},
        {.function = "__libc_start_call_main", .module = "/lib/libc.so.6"},
        {.module = "/lib/libc.so.6", .offset = 6},
        {.function = "_start", .module = "/bin/leak"},
    };
    assert_string_equal(written(frames, 10), "  cudaMalloc  libcudart.so.13+0x4\n"
                                             "  libcuda.so.1+0x5\n"
                                             "  main        /src/leak.cu:42\n");
}

UNIT_TEST_WITH(what_lies_above_cuda_is_left_out, begin, end)
{
    const struct stack_frame frames[] = {
        {.function = "tell", .module = "/lib/libother_tool.so"},
        {.function = "cuMemAlloc_v2", .module = "/lib/libcuda.so.1"},
        {.function = "main", .file = "/src/a.cu", .line = 3},
    };
    assert_string_equal(written(frames, 3), "  main  /src/a.cu:3\n");
}

/* It runs on a thread of CUDA's. */
UNIT_TEST_WITH(a_function_that_cuda_called_is_shown, begin, end)
{
    const struct stack_frame frames[] = {
        {.function = "hosted", .file = "/src/h.cu", .line = 3},
        {.module = "/lib/libcuda.so.1", .offset = 1},
        {.function = "start_thread", .module = "/lib/libc.so.6", .offset = 2},
    };
    assert_string_equal(written(frames, 3), "  hosted        /src/h.cu:3\n"
                                            "  libcuda.so.1+0x1\n"
                                            "  start_thread  libc.so.6+0x2\n");
}

UNIT_TEST_WITH(what_started_a_thread_is_left_out, begin, end)
{
    const struct stack_frame frames[] = {
        {.function = "work", .file = "/src/t.cu", .line = 3},
        {.function = "start_thread", .module = "/lib/libc.so.6"},
        {.function = "__clone3", .module = "/lib/libc.so.6"},
    };
    assert_string_equal(written(frames, 3), "  work  /src/t.cu:3\n");
}

UNIT_TEST_WITH(a_stack_of_such_frames_alone_is_shown, begin, end)
{
    const struct stack_frame frames[] = {{.function = "cuInit", .module = "/lib/libcuda.so.1", .offset = 1},
                                         {.function = "start_thread", .module = "/lib/libc.so.6", .offset = 2}};
    assert_string_equal(written(frames, 2), "  cuInit        libcuda.so.1+0x1\n"
                                            "  start_thread  libc.so.6+0x2\n");
    assert_string_equal(written(NULL, 0), "");
}

/* A function of Python that has the name of where C begins is one of many. */
UNIT_TEST_WITH(functions_of_python_have_places_as_others, begin, end)
{
    const uint64_t python = UINT64_C(0x8001) << 48;
    const struct stack_frame frames[] = {
        {.function = "cuMemAlloc_v2", .module = "/usr/lib/libcuda.so.1"},
        {.address = python + 1, .function = "forward", .file = "/src/m.py", .line = 3, .module = "python"},
        {.address = python + 2, .function = "main", .file = "/src/m.py", .line = 9, .module = "python"},
        {.address = python, .module = "python"},
        {.address = python + 3, .function = "<module>", .file = "/src/m.py", .module = "python"},
    };
    assert_string_equal(written(frames, 5), "  forward   /src/m.py:3\n"
                                            "  main      /src/m.py:9\n"
                                            "  python\n"
                                            "  <module>  /src/m.py\n");
}

UNIT_TEST_WITH(inlined_calls_come_first, begin, end)
{
    const struct stack_frame inlined[] = {{.function = "inner", .file = "/a.h", .line = 1},
                                          {.function = "outer_one", .file = "/b.h", .line = 2}};
    const struct stack_frame frames[] = {
        {.function = "main", .file = "/c.c", .line = 3, .inlined = inlined, .inlined_count = 2}};
    assert_string_equal(written(frames, 1), "  inner      /a.h:1\n"
                                            "  outer_one  /b.h:2\n"
                                            "  main       /c.c:3\n");
}

UNIT_TEST_WITH(deep_stacks_are_cut_and_it_is_said, begin, end)
{
    struct stack_frame frames[100];
    for (size_t i = 0; i < 100; i++)
        frames[i] = (struct stack_frame){.function = "again", .file = "/r.c", .line = 9};
    const char *text = written(frames, 100);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 33);
    assert_contains(text, "  … and 68 more\n");
}

UNIT_TEST_WITH(names_keep_to_their_line, begin, end)
{
    const struct stack_frame frames[] = {{.function = "a\n\x1b[31m", .file = "/b\r\xff.c", .line = 1}};
    assert_string_equal(written(frames, 1), "  a\\n\\x1b[31m  /b\\r\xef\xbf\xbd.c:1\n");
}

UNIT_MAIN(NULL, NULL)
