#include "tests/unit.h"
#include <limits.h>

#include "common/buffer.h"
#include "analysis/render/render.h"
#include "analysis/base/table.h"

enum { TOTAL, AVG, SIZE, NOTE, NAME, COLUMNS };
static const struct column columns[] = {
    [TOTAL] = {"total", "Total", TYPE_NS, COLUMN_SUM | COLUMN_APART, .fill = NULL},
    [AVG] = {"avg", "Avg", TYPE_NS, 0, .fill = NULL},
    [SIZE] = {"size", "Size", TYPE_BYTES, 0, .fill = NULL},
    [NOTE] = {"note", "Note", TYPE_TEXT, COLUMN_OPTIONAL, .fill = NULL},
    [NAME] = {"name", "Name", TYPE_TEXT, 0, .fill = NULL},
};

static struct table table;
static struct buffer out;

static void add_row(int64_t total, double average, int64_t size, const char *name)
{
    struct cell *row = table_row(&table);
    assert_non_null(row);
    row[TOTAL] = cell_integer(total);
    row[AVG] = cell_real(average);
    row[SIZE] = cell_integer(size);
    row[NAME] = table_text(&table, name);
}

UNIT_FIXTURE(begin)
{
    table = (struct table){.word = "things", .title = "Things", .columns = columns, .column_count = COLUMNS};
    buffer_init_memory(&out);
    return 0;
}

UNIT_FIXTURE(end)
{
    table_release(&table);
    buffer_release(&out);
    return 0;
}

/* What the format writes, sorted by total. */
static const char *rendered(const struct renderer *format, const struct report_options *options)
{
    struct render render = {.format = format, .out = &out, .options = options};
    free(table.order);
    assert_int_equal(table_sort(&table, TOTAL, options->top), 0);
    out.length = 0;
    if (format->begin)
        format->begin(&render);
    if (format->trace_begin)
        format->trace_begin(&render, "t.json", "");
    format->table(&render, &table);
    if (format->trace_end)
        format->trace_end(&render);
    if (format->end)
        format->end(&render);
    buffer_char(&out, '\0');
    assert_int_equal(buffer_finish(&out), 0);
    return out.data;
}

UNIT_TEST_WITH(a_table_is_aligned_and_summed, begin, end)
{
    struct report_options options = {.unit = REPORT_UNIT_US};
    add_row(1500, 751, 100, "small");
    add_row(2000000, 20000.25, 3145728, "great");
    assert_string_equal(rendered(&renderer_table, &options), "Things (things)\n"
                                                             "  Total (µs)  Avg (µs)      Size  Name\n"
                                                             "  ----------  --------  --------  ----\n"
                                                             "    2000.000    20.000  3.00 MiB  great\n"
                                                             "       1.500     0.751   100 B    small\n"
                                                             "  ----------  --------  --------  ----\n"
                                                             "    2001.500                      total\n");
}

UNIT_TEST_WITH(values_have_units_of_their_own_below_each_other, begin, end)
{
    struct report_options options = {0};
    add_row(1500, 751, 100, "small");
    add_row(2000000, 20000.25, 3145728, "great");
    assert_string_equal(rendered(&renderer_table, &options), "Things (things)\n"
                                                             "    Total      Avg      Size  Name\n"
                                                             "  -------  -------  --------  ----\n"
                                                             "  2.00 ms  20.0 µs  3.00 MiB  great\n"
                                                             "  1.50 µs   751 ns   100 B    small\n"
                                                             "  -------  -------  --------  ----\n"
                                                             "  2.00 ms                     total\n");
    options.ascii = true;
    assert_contains(rendered(&renderer_table, &options), "  1.50 us   751 ns   100 B    small\n");
    assert_contains(rendered(&renderer_markdown, &options), "| 2000.000 | 20.000 | 3.00 MiB | great |\n");
}

UNIT_TEST_WITH(a_narrow_line_has_the_important_columns, begin, end)
{
    struct report_options options = {.width = 40};
    add_row(1500, 751, 100, "the name of a kernel");
    assert_contains(rendered(&renderer_table, &options), "    Total   Size  Name\n");
    assert_contains(out.data, "  1.50 µs  100 B  the name of a kernel\n");
    assert_contains(out.data, "\nColumns left out:\n  --columns=all shows them\n");
    options.width = 48;
    assert_contains(rendered(&renderer_table, &options), "    Total     Avg   Size  Name\n");
    assert_null(strstr(out.data, "left out"));
}

UNIT_TEST_WITH(the_columns_that_were_chosen_stay, begin, end)
{
    struct report_options options = {.width = 30};
    add_row(1500, 751, 100, "the name of a kernel");
    assert_int_equal(table_choose(&table, "avg,note,name,size_bytes,nothing"), 0);
    assert_contains(rendered(&renderer_table, &options),
                    "     Avg  Note  Name               Size\n  ------  ----  ----------------  -----\n  751 ns  -     "
                    "the name o…ernel  100 B\n");
    assert_contains(rendered(&renderer_csv, &options), "avg_ns,note,name,size_bytes\r\n751.000,,the name");
    assert_contains(rendered(&renderer_json, &options), "{\"avg_ns\": 751, \"note\": null, \"name\": \"the name");
}

UNIT_TEST_WITH(all_columns_are_those_that_have_values, begin, end)
{
    struct report_options options = {.width = 20};
    add_row(1500, 751, 100, "x");
    assert_int_equal(table_choose(&table, "all"), 0);
    assert_contains(rendered(&renderer_table, &options), "    Total     Avg   Size  Name\n");
}

UNIT_TEST_WITH(sizes_of_any_kind_have_a_unit_that_suits_them, begin, end)
{
    struct report_options options = {0};
    add_row(1, 1, INT64_C(1) << 40, "x");
    add_row(1, 1, INT64_C(3) << 49, "x");
    add_row(1, 1, INT64_C(1) << 60, "x");
    const char *text = rendered(&renderer_table, &options);
    assert_contains(text, " 1.00 TiB  x\n");
    assert_contains(text, " 1.50 PiB  x\n");
    assert_contains(text, " 1.00 EiB  x\n");
}

UNIT_TEST_WITH(what_top_cuts_is_reported_and_summed, begin, end)
{
    struct report_options options = {.top = 1};
    for (int i = 0; i < 3; i++)
        add_row(10 + i, 1, 1, "x");
    const char *text = rendered(&renderer_table, &options);
    assert_contains(text, "\n  … and 2 more rows (--top=0 shows all)\n");
    assert_contains(text, "\n  33 ns              total\n");
}

UNIT_TEST_WITH(a_chosen_unit_is_used_everywhere, begin, end)
{
    struct report_options options = {.unit = REPORT_UNIT_MS};
    add_row(1234567, 1000, 1, "x");
    assert_contains(rendered(&renderer_table, &options), "  Total (ms)  Avg (ms)");
    assert_contains(rendered(&renderer_table, &options), "       1.235  0.001000");
    assert_contains(rendered(&renderer_csv, &options),
                    "total_ms,avg_ms,size_bytes,note,name\r\n1.234567,0.001000,1,,x\r\n");
}

UNIT_TEST_WITH(names_are_shortened_in_their_middle_to_fit, begin, end)
{
    struct report_options options = {.width = 51};
    add_row(1, 1, 1, "abcdefghijklmnopqrstuvwxyzÄÖÜäöüABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const char *text = rendered(&renderer_table, &options);
    const char *last = strstr(text, "abc");
    assert_non_null(last);
    assert_string_equal(last, "abcdefghijklmnopqrs…QRSTUVWXYZ\n");
    options.width = 1; /* never to nothing */
    assert_contains(rendered(&renderer_table, &options), "abcdefghij…VWXYZ\n");
}

UNIT_TEST_WITH(nothing_in_a_table_breaks_its_lines, begin, end)
{
    struct report_options options = {0};
    add_row(1, 1, 1,
            "a\nb\tc\x1b[31m\x7f\xff|\xe2\x80\xae"
            "d\xc2\x9b");
    assert_contains(rendered(&renderer_table, &options), "a\\nb\\tc\\x1b[31m\\x7f\xef\xbf\xbd|\\u202ed\\x9b\n");
}

UNIT_TEST_WITH(markdown_takes_nothing_for_its_own, begin, end)
{
    struct report_options options = {0};
    add_row(1, 1, 1, "f<int*>(a|b)\\n_x_`[1]#&$~\n");
    assert_contains(rendered(&renderer_markdown, &options),
                    "| f\\<int\\*\\>(a\\|b)\\\\n\\_x\\_\\`\\[1\\]\\#\\&\\$\\~\\\\n |\n");
}

UNIT_TEST_WITH(csv_quotes_what_needs_it, begin, end)
{
    struct report_options options = {0};
    add_row(3, 1.5, 7, "plain | name");
    add_row(2, 1, 7, "a,\"b\"\r\nc\xff");
    assert_string_equal(rendered(&renderer_csv, &options), "total_ns,avg_ns,size_bytes,note,name\r\n"
                                                           "3,1.500,7,,plain | name\r\n"
                                                           "2,1.000,7,,\"a,\"\"b\"\"\r\nc\xef\xbf\xbd\"\r\n");
}

UNIT_TEST_WITH(json_has_exact_numbers_whatever_the_unit, begin, end)
{
    struct report_options options = {.unit = REPORT_UNIT_S};
    add_row(INT64_C(9007199254740993), 1.5, 7, "a\"\n\xff");
    assert_string_equal(
        rendered(&renderer_json, &options),
        "{\n  \"trace\": \"t.json\",\n  \"things\": [\n    {\"total_ns\": 9007199254740993, \"avg_ns\": "
        "1.5, \"size_bytes\": 7, \"note\": null, \"name\": \"a\\\"\\n\xef\xbf\xbd\"}\n  ]\n}\n");
}

UNIT_TEST_WITH(columns_are_found_by_word_or_by_key, begin, end)
{
    assert_int_equal(table_find_column(columns, COLUMNS, "total"), TOTAL);
    assert_int_equal(table_find_column(columns, COLUMNS, "total_ns"), TOTAL);
    assert_int_equal(table_find_column(columns, COLUMNS, "size_bytes"), SIZE);
    assert_int_equal(table_find_column(columns, COLUMNS, "total_ms"), -1);
    assert_int_equal(table_find_column(columns, COLUMNS, "tot"), -1);
    assert_int_equal(table_find_column(columns, COLUMNS, ""), -1);
}

UNIT_TEST_WITH(texts_are_sorted_from_a_and_what_is_not_known_comes_last, begin, end)
{
    const char *const names[] = {"b", "c", "a"};
    for (int i = 0; i < 3; i++)
        add_row(1, 1, 1, names[i]);
    assert_non_null(table_row(&table));
    assert_int_equal(table_sort(&table, NAME, 0), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(*table_cell_text(&table, table_cell(&table, i, NAME)), 'a' + (int)i);
    assert_int_equal(table_cell(&table, 3, NAME)->kind, CELL_NONE);
}

UNIT_TEST_WITH(what_was_not_recorded_is_no_value_for_programs_and_words_for_people, begin, end)
{
    struct report_options options = {.unit = REPORT_UNIT_NS};
    add_row(5, 1, 1, "b");
    add_row(7, 1, 1, "a");
    struct cell *row = table_row(&table);
    row[TOTAL].kind = CELL_UNRECORDED;
    row[NAME] = table_text(&table, "c");
    snprintf(table.missing, sizeof(table.missing), "kernel");
    const char *text = rendered(&renderer_table, &options);
    assert_contains(text, "\n  not recorded         -     -  c\n");
    assert_contains(text, "            12                  total\n  not recorded (left out by --trace): kernel\n");
    assert_contains(rendered(&renderer_json, &options), "{\"total_ns\": null, ");
    assert_contains(rendered(&renderer_csv, &options), "\r\n,,,,c\r\n,,,,not recorded: kernel\r\n");
}

/* --- call stacks --- */

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
