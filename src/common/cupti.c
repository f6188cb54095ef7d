/*
 * The table of CUPTI's kinds with the sizes of their records by CUPTI's version; the order in which a libcupti is
 * searched: the path that the user gives, LD_LIBRARY_PATH, the toolkits of CUDA_HOME, CUDA_PATH and /usr/local/cuda,
 * and the names that the dynamic loader finds by itself; and the classes of the API functions as two arrays by CUPTI's
 * number of the function, made of api_classes.list.
 */
#include "common/cupti.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct cupti_kind cupti_kinds[CUPTI_KIND_COUNT] = {
#define SIZE(since, bytes, type) {since, bytes},
#define KIND(number, name, groups, on, sizes) {number, CUPTI_KIND_##on, groups, {sizes}},
    CUPTI_KINDS(KIND)
#undef KIND
#undef SIZE
};

uint16_t cupti_record_bytes(uint32_t kind, uint32_t version)
{
    uint16_t bytes = 0;
    for (size_t i = 0; i < CUPTI_KIND_COUNT && version < CUPTI_13_1; i++)
        for (size_t j = 0; cupti_kinds[i].number == kind && j < 4 && cupti_kinds[i].sizes[j].bytes; j++)
            if (cupti_kinds[i].sizes[j].since <= version)
                bytes = cupti_kinds[i].sizes[j].bytes;
    return bytes;
}

/* --- where a libcupti is searched --- */

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A folder's own link comes first: it is the version that belongs there. The others are for installations without
 * development files, which have sonames alone. 11.8 is the oldest that works. */
static const char *const names[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"};

struct search {
    int (*try)(void *context, const char *path);
    void *context;
};

/* FOLDER is LENGTH bytes long; SUFFIX goes on below it. */
static int search_folder(const struct search *search, const char *folder, size_t length, const char *suffix)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < COUNT(names); i++) {
        int size = snprintf(path, sizeof(path), "%.*s%s/%s", (int)length, folder, suffix, names[i]);
        if (size < 0 || (size_t)size >= sizeof(path) || access(path, R_OK) != 0)
            continue;
        int result = search->try(search->context, path);
        if (result)
            return result;
    }
    return 0;
}

int cupti_path_each(const char *preferred, int (*try)(void *context, const char *path), void *context)
{
    struct search search = {.try = try, .context = context};
    int result = preferred && *preferred ? try(context, preferred) : 0;
    const char *list = getenv("LD_LIBRARY_PATH");
    for (size_t length; list && *list && !result; list += length + (list[length] != '\0')) {
        length = strcspn(list, ":;");
        if (length > 0)
            result = search_folder(&search, list, length, "");
    }
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; !result && i < COUNT(homes); i++)
        if (homes[i] && *homes[i])
            result = search_folder(&search, homes[i], strlen(homes[i]), "/lib64")
                         ?: search_folder(&search, homes[i], strlen(homes[i]), "/extras/CUPTI/lib64");
    for (size_t i = 0; !result && i < COUNT(sonames); i++)
        result = try(context, sonames[i]);
    return result;
}

/* --- classes of functions --- */

static const uint8_t runtime_classes[] = {
#include "common/runtime_classes.inc"
};

static const uint8_t driver_classes[] = {
#include "common/driver_classes.inc"
};

enum api_class api_runtime_class(uint32_t cbid)
{
    return cbid < sizeof(runtime_classes) ? runtime_classes[cbid] : API_ACTION;
}

enum api_class api_driver_class(uint32_t cbid)
{
    return cbid < sizeof(driver_classes) ? driver_classes[cbid] : API_ACTION;
}

bool api_class_recorded(enum api_class class, uint64_t trace_bits)
{
    return class == API_ACTION || (trace_bits & TRACE_API_ALL) ||
           (class == API_STATUS && (trace_bits & TRACE_EVENT_TIMES));
}
