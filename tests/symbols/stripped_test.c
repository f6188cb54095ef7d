#include "tests/unit.h"

#include <dlfcn.h>

#include "symbols/symbols.h"

/* A library that is like an interpreter: EXTRA is what strip(1) gets. */
static const char source[] = "#include <stdint.h>\n"
                             "static volatile int64_t collected;\n"
                             "__attribute__((noinline)) static int64_t collector(int64_t n)\n"
                             "{ for (int64_t i = 0; i < n; i++) collected += i; return collected; }\n"
                             "__attribute__((noinline)) static int64_t other(int64_t n) { return collected - n; }\n"
                             "int64_t public_one(int64_t n) { return collected * n; }\n"
                             "int64_t NAME(void) { return public_one(1) + collector(100) + 1; }\n"
                             "int64_t another(void) { return other(7) + 1; }\n"
                             "void *where(int which) { return which ? (void *)other : (void *)collector; }\n";

/* The name of the code AT bytes into a private function of the library made of SOURCE. WHICH: 0 is what the public one
 * calls. */
static const char *name_of(const char *public, const char *strip, int which, unsigned at)
{
    static char name[64], path[] = "/tmp/stripped_test.XXXXXX";
    char command[512], library[64], text[64];
    strcpy(path + sizeof(path) - 7, "XXXXXX");
    assert_non_null(mkdtemp(path));
    snprintf(text, sizeof(text), "%s/made.c", path);
    snprintf(library, sizeof(library), "%s/made.so", path);
    FILE *file = fopen(text, "w");
    assert_non_null(file);
    fputs(source, file);
    fclose(file);
    snprintf(command, sizeof(command), "cc -O2 -fPIC -fno-inline -shared -DNAME=%s -o %s %s && strip %s %s", public,
             library, text, strip, library);
    assert_int_equal(system(command), 0);
    void *loaded = dlopen(library, RTLD_NOW);
    assert_non_null(loaded);
    void *(*where)(int) = (void *(*)(int))(uintptr_t)dlsym(loaded, "where");
    Dl_info info;
    assert_int_not_equal(dladdr(where(which), &info), 0);
    uint64_t offset = (uint64_t)((uintptr_t)where(which) - (uintptr_t)info.dli_fbase) + at;
    struct object object;
    struct names names = {0};
    struct stack_frame frame = {0};
    object_open(&object, library, 1, UINT64_MAX);
    assert_int_equal(object_name(&object, &names, offset, &frame), 0);
    snprintf(name, sizeof(name), "%s", frame.function ? frame.function : "");
    object_close(&object);
    names_release(&names);
    dlclose(loaded);
    snprintf(command, sizeof(command), "rm -r %s", path);
    assert_int_equal(system(command), 0);
    return name;
}

UNIT_TEST(the_collector_of_a_stripped_interpreter_has_a_name)
{
    assert_string_equal(name_of("PyGC_Collect", "--strip-all", 0, 0), "gc_collect");
    assert_string_equal(name_of("PyGC_Collect", "--strip-all", 0, 20), "gc_collect");
}

UNIT_TEST(other_functions_of_it_have_none)
{
    assert_string_equal(name_of("PyGC_Collect", "--strip-all", 1, 2), "");
}

UNIT_TEST(other_libraries_have_none)
{
    assert_string_equal(name_of("PyGC_Disable", "--strip-all", 0, 20), "");
}

UNIT_TEST(an_interpreter_with_its_symbols_keeps_them)
{
    assert_string_equal(name_of("PyGC_Collect", "--strip-debug", 0, 20), "collector");
}

UNIT_MAIN(NULL, NULL)
