#include <sys/mman.h>

#include "agent/cupti/calls_code.h"
#include "agent/cupti/driver_calls.h"
#include "tests/agent/cupti/hearing.h"
#include "tests/unit.h"

static const char ptx[] = "// a comment\n.version 8.0\n";
static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba, 0, 0, 0, 0};

static uint32_t phase_trigger(void)
{
    assert_int_equal(heard(REGISTRY_compilation_phase_start), 1);
    assert_int_equal(heard(REGISTRY_compilation_phase_end), 1);
    assert_int_equal(phases_pending(), 0);
    const struct gputrace_compilation_phase_end *end = heard_what(REGISTRY_compilation_phase_end, 0);
    assert_int_equal(end->ending, GPUTRACE_ENDING_RETURNED);
    return end->trigger;
}

static void check(const struct gputrace_module_load *load, uint64_t module, bool library, enum gputrace_image image,
                  const char *file)
{
    assert_int_equal(load->module, module);
    assert_int_equal(load->library, library);
    assert_int_equal(load->image, image);
    assert_ptr_equal(load->file, file);
    assert_int_equal(phase_trigger(),
                     image == GPUTRACE_IMAGE_PTX ? GPUTRACE_TRIGGER_PTX : GPUTRACE_TRIGGER_MODULE_LOAD);
}

#define LOADS(function, type, output, is_library, sort, name, ...)                                   \
    do {                                                                                             \
        type made = (type)0x70;                                                                      \
        function##_params p = {.output = &made, __VA_ARGS__};                                        \
        check(HEAR(module_load, function, &p, 0), 0x70, is_library, sort, name);                     \
        p.output = NULL;                                                                             \
        check(HEAR(module_load, function, &p, CUDA_ERROR_INVALID_IMAGE), 0, is_library, sort, name); \
    } while (0)

UNIT_TEST(loads_tell_module_and_image_and_are_phases)
{
    LOADS(cuModuleLoadData, CUmodule, module, false, GPUTRACE_IMAGE_PTX, NULL, .image = ptx);
    LOADS(cuModuleLoadData, CUmodule, module, false, GPUTRACE_IMAGE_FATBIN, NULL, .image = fatbin);
    LOADS(cuModuleLoadDataEx, CUmodule, module, false, GPUTRACE_IMAGE_PTX, NULL, .image = ptx);
    LOADS(cuModuleLoadFatBinary, CUmodule, module, false, GPUTRACE_IMAGE_FATBIN, NULL, .fatCubin = fatbin);
    LOADS(cuLibraryLoadData, CUlibrary, library, true, GPUTRACE_IMAGE_FATBIN, NULL, .code = fatbin);
    LOADS(cuLibraryLoadData, CUlibrary, library, true, GPUTRACE_IMAGE_PTX, NULL, .code = ptx);
    static const char file[] = "k.ptx";
    LOADS(cuModuleLoad, CUmodule, module, false, GPUTRACE_IMAGE_FILE, file, .fname = file);
    LOADS(cuLibraryLoadFromFile, CUlibrary, library, true, GPUTRACE_IMAGE_FILE, file, .fileName = file);
}

UNIT_TEST(unloads_tell_the_module)
{
    cuModuleUnload_params module = {(CUmodule)0x70};
    assert_int_equal(HEAR(module_unload, cuModuleUnload, &module, 0)->module, 0x70);
    assert_int_equal(HEAR(module_unload, cuModuleUnload, &module, CUDA_ERROR_INVALID_HANDLE)->library, 0);
    cuLibraryUnload_params library = {(CUlibrary)0x71};
    assert_int_equal(HEAR(module_unload, cuLibraryUnload, &library, 0)->module, 0x71);
    assert_int_equal(HEAR(module_unload, cuLibraryUnload, &library, CUDA_ERROR_INVALID_HANDLE)->library, 1);
    hearing_covers(&code_calls, REGISTRY_BIT(module_load) | REGISTRY_BIT(module_unload));
}

static void check_phase_alone(CUpti_CallbackId cbid, const void *params, uint32_t trigger)
{
    make_call(cbid, params, 0);
    assert_int_equal(heard_in_all(), 0);
    assert_int_equal(phase_trigger(), trigger);
    make_call(cbid, params, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(phase_trigger(), trigger);
    const struct gputrace_compilation_phase_end *end = heard_what(REGISTRY_compilation_phase_end, 0);
    assert_int_equal(end->call.result, CUDA_ERROR_INVALID_VALUE);
}

UNIT_TEST(linking_and_getting_functions_are_phases)
{
#define CHECK(function, trigger)                                                               \
    do {                                                                                       \
        function##_params p;                                                                   \
        memset(&p, 0, sizeof(p));                                                              \
        check_phase_alone(CUPTI_DRIVER_TRACE_CBID_##function, &p, GPUTRACE_TRIGGER_##trigger); \
    } while (0)
    CHECK(cuLinkAddData, LINK);
    CHECK(cuLinkAddData_v2, LINK);
    CHECK(cuLinkAddFile, LINK);
    CHECK(cuLinkAddFile_v2, LINK);
    CHECK(cuLinkComplete, LINK);
    CHECK(cuModuleGetFunction, FUNCTION_LOAD);
    CHECK(cuFuncLoad, FUNCTION_LOAD);
    CHECK(cuLibraryGetModule, FUNCTION_LOAD);
    CHECK(cuDevicePrimaryCtxRetain, CONTEXT_CREATION);
    CHECK(cuCtxCreate, CONTEXT_CREATION);
    CHECK(cuCtxCreate_v2, CONTEXT_CREATION);
    CHECK(cuCtxCreate_v3, CONTEXT_CREATION);
    CHECK(cuCtxCreate_v4, CONTEXT_CREATION);
#undef CHECK
    cuKernelGetFunction_params get = {NULL, (CUkernel)0x20};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction, &get, 0);
    assert_int_equal(phase_trigger(), GPUTRACE_TRIGGER_FUNCTION_LOAD);
    cuLibraryGetKernel_params failed = {0}; /* loads nothing; what it leads to: lazy_loading_test.c */
    make_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel, &failed, CUDA_ERROR_NOT_FOUND);
    cuLibraryEnumerateKernels_params kernels = {0}; /* nor do these: first_launches_test.c */
    cuModuleEnumerateFunctions_params functions = {0};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryEnumerateKernels, &kernels, CUDA_ERROR_INVALID_HANDLE);
    make_call(CUPTI_DRIVER_TRACE_CBID_cuModuleEnumerateFunctions, &functions, CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(heard_in_all() + heard(REGISTRY_compilation_phase_start), 0);
    hearing_covers(&code_calls, UINT64_MAX);
}

/* Libraries ask for a kernel's function before each launch. */
UNIT_TEST(the_function_of_a_kernel_is_loaded_once)
{
    cuKernelGetFunction_params get = {NULL, (CUkernel)0x21};
    cuModuleUnload_params unload = {(CUmodule)0x70};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction, &get, 0);
    assert_int_equal(phase_trigger(), GPUTRACE_TRIGGER_FUNCTION_LOAD);
    make_call(CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction, &get, 0);
    assert_int_equal(heard(REGISTRY_compilation_phase_start), 0);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, &unload, 0);
    make_call(CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction, &get, 0);
    assert_int_equal(phase_trigger(), GPUTRACE_TRIGGER_FUNCTION_LOAD);
}

UNIT_TEST(code_tells_the_call_that_it_came_in)
{
    CUmodule made = (CUmodule)0x70;
    cuModuleLoadData_params p = {&made, fatbin};
    CUpti_ModuleResourceData module = {.moduleId = 9, .cubinSize = sizeof(fatbin), .pCubin = (const char *)fatbin};
    hearing_clear();
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, &p);
    fake_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, FAKE_CONTEXT, NULL, &module);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, &p, 0);
    const struct gputrace_code_load *code = heard_what(REGISTRY_code_load, 0);
    assert_ptr_equal(code->code, fatbin);
    assert_int_equal(code->bytes, sizeof(fatbin));
    assert_int_equal(code->module_id, 9);
    assert_string_equal(code->call.function, "cuModuleLoadData");
    assert_int_equal(code->call.correlation,
                     ((const struct gputrace_module_load *)heard_what(REGISTRY_module_load, 0))->call.correlation);
    hearing_clear();
    fake_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, FAKE_CONTEXT, NULL, &module);
    code = heard_what(REGISTRY_code_load, 0);
    assert_null(code->call.function);
}

UNIT_TEST(profiling_is_asked_for)
{
    assert_int_equal(HEAR(profiler, cuProfilerStart, NULL, 0)->start, 1);
    assert_int_equal(HEAR(profiler, cuProfilerStop, NULL, 0)->start, 0);
    HEAR(profiler, cuProfilerStart, NULL, CUDA_ERROR_PROFILER_DISABLED);
    HEAR(profiler, cuProfilerStop, NULL, CUDA_ERROR_PROFILER_DISABLED);
    hearing_covers(&stream_calls, REGISTRY_BIT(profiler));
}

/* --- kinds of images of code --- */

/* The bytes end where readable memory ends, so that reading on is a crash. */
static enum gputrace_image sort_at_end(const void *bytes, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    memcpy(pages + page - length, bytes, length);
    enum gputrace_image image = image_sort(pages + page - length);
    munmap(pages, 2 * page);
    return image;
}

UNIT_TEST(binaries_are_known_by_four_bytes)
{
    assert_int_equal(sort_at_end("\x7f"
                                 "ELF",
                                 4),
                     GPUTRACE_IMAGE_CUBIN);
    const uint32_t header = 0xba55ed50, wrapper = 0x466243b1, unknown = 0x12345678;
    assert_int_equal(sort_at_end(&header, 4), GPUTRACE_IMAGE_FATBIN);
    assert_int_equal(sort_at_end(&wrapper, 4), GPUTRACE_IMAGE_FATBIN);
    assert_int_equal(sort_at_end(&unknown, 4), GPUTRACE_IMAGE_UNKNOWN);
}

#define TEXT(text) sort_at_end(text, sizeof(text)) /* with its NUL */

UNIT_TEST(ptx_begins_with_its_version)
{
    assert_int_equal(TEXT(".version 8.0"), GPUTRACE_IMAGE_PTX);
    assert_int_equal(TEXT("\n\t .version 8.0"), GPUTRACE_IMAGE_PTX);
    assert_int_equal(TEXT("//\n// made by a compiler\n//\n\n.version 8.0"), GPUTRACE_IMAGE_PTX);
    assert_int_equal(TEXT("/* one\n * two **/ // three\n.version 8.0"), GPUTRACE_IMAGE_PTX);
}

UNIT_TEST(other_texts_are_not_read_beyond_their_end)
{
    assert_int_equal(TEXT(""), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("."), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT(".versio"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("  "), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("/"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("//"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("// never ended"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("/* never ended *"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("\x7f"
                          "EL"),
                     GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(TEXT("P"), GPUTRACE_IMAGE_UNKNOWN);
    assert_int_equal(image_sort(NULL), GPUTRACE_IMAGE_UNKNOWN);
}

UNIT_MAIN(hearing_start, NULL)
