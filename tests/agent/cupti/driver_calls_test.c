/* The tables as a whole, held to CUPTI's own list of the driver's functions: none stands twice, none is forgotten. */

#include <regex.h>

#include "agent/cupti/calls_code.h"
#include "agent/cupti/driver_calls.h"
#include "tests/unit.h"

/* Functions that the tables shall have, by how their names begin: a function that a new toolkit brings is noticed. */
static const char *const families[] = {
    "cuEvent",
    "cuStream",
    "cuCtxSynchronize",
    "cuCtxRecord",
    "cuCtxWait",
    "cuGreenCtx",
    "cuMem",
    "cuArray",
    "cuMipmapped",
    "cuLaunch",
    "cuGraphInstantiate",
    "cuGraphLaunch",
    "cuModule",
    "cuLibrary",
    "cuLink",
    "cuKernel",
    "cuFunc",
    "cuProfiler",
    "cuSignal",
    "cuWaitExternal",
    "cuMulticast",
    "cuImportExternal",
    "cuExternalMemory",
};

/* … but for these. Patterns match whole names; versions of per-thread default streams are meant too. */
static const char *const need_none[] = {
    /* Made for addresses of 32 bits, and ids for which there is no function. */
    "cuMem(Alloc|AllocPitch|AllocHost|Free|HostGetDevicePointer|GetInfo|GetAddressRange|HostAlloc_v2)",
    "cuMemcpy(HtoD|DtoH|DtoD|DtoA|AtoD|HtoA|AtoH|AtoA|2D|2DUnaligned|3D)",
    "cuMemcpy(HtoD|DtoH|DtoD|HtoA|AtoH|2D|3D)Async",
    "cuMemcpy_v2",
    "cuMemsetD(2D)?(8|16|32)",
    "cuArray(3D)?Create",
    /* Asks, or sets how something is. (What gets a function has a row: it may load the function.) */
    "cu(Event|Stream|GreenCtx|Mem|Array|Array3D|Mipmapped|Module|Library|Kernel|Func|Multicast)[A-Za-z]*Get[A-Za-z0-9]*"
    "(_v[0-9])?",
    "cu(Kernel|Func|Stream|MemPool|Mem)Set[A-Za-z]*",
    "cuStream(CopyAttributes|IsCapturing)",
    "cuFuncIsLoaded",
    "cuProfilerInitialize",
    /* Hints about memory, and where it may be; none is allocated, freed or copied for the program. */
    "cuMemAdvise(_v2)?",
    "cuMem(Prefetch|Discard|DiscardAndPrefetch)(Batch)?Async(_v2)?",
    "cuStreamAttachMemAsync",
    "cuMemPool(Create|TrimTo|ExportToShareableHandle|ImportFromShareableHandle|ExportPointer|ImportPointer)",
    "cuMemAddress(Reserve|Free)",
    "cuMem(ExportToShareableHandle|ImportFromShareableHandle|RetainAllocationHandle)",
    "cuMemPeer(Register|Unregister)",
    "cuMemMapArrayAsync",
    "cuMulticast[A-Z][A-Za-z]*",
    "cuImportExternal(Memory|Semaphore)",
    "cuExternalMemoryGetMapped(Buffer|MipmappedArray)",
    /* Decompresses: no kind of ours. */
    "cuMemBatchDecompressAsync",
    /* Made with graphics' help, and without parameters in CUPTI's headers. */
    "cuEventCreateFrom(EGL|NVN)Sync",
    "cuStreamCreateForCaptureToCig",
    /* Its contexts' streams and events are reported. */
    "cuGreenCtx(Create|Destroy)",
    "cuStreamUpdateCaptureDependencies(_v2)?",
    /* Between them a linker adds and completes. */
    "cuLink(Create|Destroy)(_v2)?",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const headers[] = {"%s/extras/CUPTI/include/cupti_driver_cbid.h", "%s/include/cupti_driver_cbid.h"};

static FILE *open_list(void)
{
    const char *home = getenv("CUDA_HOME");
    FILE *file = NULL;
    for (size_t i = 0; !file && i < COUNT(headers); i++) {
        char path[512];
        snprintf(path, sizeof(path), headers[i], home && *home ? home : "/usr/local/cuda");
        file = fopen(path, "r");
    }
    return file;
}

/* The next function of CUPTI's list: its name, with its version, and its id. */
static bool next_function(FILE *list, char *name, CUpti_CallbackId *cbid)
{
    char line[512];
    while (fgets(line, sizeof(line), list))
        if (sscanf(line, " CUPTI_DRIVER_TRACE_CBID_%127[A-Za-z0-9_] = %u", name, cbid) == 2 &&
            strncmp(name, "cu", 2) == 0)
            return true;
    return false;
}

static bool begins_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

static bool matches(const char *name, const char *pattern)
{
    char whole[512];
    regex_t regex;
    snprintf(whole, sizeof(whole), "^(%s)(_ptsz|_ptds)?$", pattern);
    assert_int_equal(regcomp(&regex, whole, REG_EXTENDED | REG_NOSUB), 0);
    bool match = regexec(&regex, name, 0, NULL, 0) == 0;
    regfree(&regex);
    return match;
}

static bool shall_have_row(const char *name)
{
    bool of_family = false;
    for (size_t i = 0; i < COUNT(families); i++)
        of_family |= begins_with(name, families[i]);
    for (size_t i = 0; of_family && i < COUNT(need_none); i++)
        if (matches(name, need_none[i]))
            return false;
    return of_family;
}

UNIT_TEST(every_function_of_the_driver_has_a_row_or_needs_none)
{
    FILE *list = open_list();
    if (!list)
        skip();
    char name[128];
    CUpti_CallbackId cbid;
    unsigned functions = 0, forgotten = 0;
    while (next_function(list, name, &cbid)) {
        const struct driver_call *row = driver_call_find(cbid);
        functions++;
        if (row) {
            assert_string_equal(row->name, name);
        } else if (shall_have_row(name)) {
            print_error("%s (%u) has no row\n", name, cbid);
            forgotten++;
        }
    }
    fclose(list);
    assert_true(functions > 700);
    assert_int_equal(forgotten, 0);
}

/* An exemption that nothing needs any more, or that hides a row, is a mistake. */
UNIT_TEST(every_exemption_is_of_functions_without_a_row)
{
    for (size_t i = 0; i < COUNT(need_none); i++) {
        FILE *list = open_list();
        if (!list)
            skip();
        char name[128];
        CUpti_CallbackId cbid;
        unsigned matching = 0;
        while (next_function(list, name, &cbid)) {
            if (!matches(name, need_none[i]))
                continue;
            matching++;
            if (driver_call_find(cbid) && !strstr(name, "GetFunction") && !strstr(name, "GetModule") &&
                !strstr(name, "GetKernel"))
                fail_msg("%s has a row and is said to need none", name);
        }
        fclose(list);
        if (matching == 0)
            fail_msg("nothing is called '%s'", need_none[i]);
    }
}

static const struct driver_calls *const groups[] = {
    &code_calls, &copy_calls, &graph_calls, &memory_calls, &stream_calls,
};

UNIT_TEST(no_function_stands_twice)
{
    for (size_t group = 0; group < COUNT(groups); group++)
        for (size_t i = 0; i < groups[group]->count; i++) {
            const struct driver_call *row = &groups[group]->rows[i];
            if (driver_call_find(row->cbid) != row)
                fail_msg("%s stands twice", row->name);
        }
}

UNIT_TEST(every_row_serves_somebody)
{
    for (size_t group = 0; group < COUNT(groups); group++)
        for (size_t i = 0; i < groups[group]->count; i++) {
            const struct driver_call *row = &groups[group]->rows[i];
            bool per_thread = strstr(row->name, "_ptsz") || strstr(row->name, "_ptds");
            assert_int_equal(row->per_thread, per_thread);
            assert_true(row->kinds != 0);
            assert_true(row->publish || row->trigger || row->phase || row->begins ||
                        (row->kinds & REGISTRY_BIT(graph_node)));
        }
}

UNIT_TEST(ids_that_are_none_have_no_row)
{
    assert_null(driver_call_find(0));
    assert_null(driver_call_find(CUPTI_DRIVER_TRACE_CBID_SIZE)); /* of a CUPTI that is newer than we */
    assert_null(driver_call_find(UINT32_MAX));
}

UNIT_FIXTURE(start)
{
    driver_calls_init();
    return 0;
}

UNIT_MAIN(start, NULL)
