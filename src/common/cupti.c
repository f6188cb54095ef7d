/*
 * The table of CUPTI's kinds with the sizes of their records by CUPTI's version; the order in which a libcupti is
 * searched; and the classes of the API functions as two arrays by CUPTI's number of the function, made of
 * api_classes.list.
 */
#include "common/cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/record_kinds.h"

const struct cupti_kind cupti_kinds[CUPTI_KIND_COUNT] = {
#define SIZE(since, bytes, type) {since, bytes},
#define KIND(number, name, groups, on, sizes, ...) {number, CUPTI_KIND_##on, groups, {sizes}},
    CUPTI_KINDS(KIND, KIND)
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

/* A folder's own link comes first, because it leads to the version that belongs there. Installations without
 * development files have only sonames. 11.8 is the oldest that works. */
static const char *const names[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"};

struct search {
    int (*try)(void *context, const char *path);
    void *context;
};

/* Tries the files in the folder SUFFIX below FOLDER, which is LENGTH bytes long. Returns the last result of TRY, or
 * 0. */
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

static int search_toolkit(const struct search *search, const char *home)
{
    if (!home || !*home)
        return 0;
    int result = search_folder(search, home, strlen(home), "/lib64");
    return result ? result : search_folder(search, home, strlen(home), "/extras/CUPTI/lib64");
}

/* Searches NVIDIA's wheels in the folders of Python packages that PATTERN matches: the newest CUDA first. */
static int search_wheels(const struct search *search, const char *pattern)
{
    static const char *const wheels[] = {"nvidia/cu[1-9][0-9]/lib", "nvidia/cuda_cupti/lib"};
    int result = 0;
    for (size_t i = 0; i < COUNT(wheels) && !result; i++) {
        char path[PATH_MAX];
        glob_t found;
        int size = snprintf(path, sizeof(path), "%s/%s", pattern, wheels[i]);
        if (size < 0 || (size_t)size >= sizeof(path) || glob(path, 0, NULL, &found) != 0)
            continue;
        for (size_t j = found.gl_pathc; j-- > 0 && !result;)
            result = search_folder(search, found.gl_pathv[j], strlen(found.gl_pathv[j]), "");
        globfree(&found);
    }
    return result;
}

/* Searches the wheels beside a loaded library if it lies in a folder of Python packages, which this program then uses.
 * A callback of dl_iterate_phdr(). */
static int search_beside(struct dl_phdr_info *info, size_t size, void *search)
{
    (void)size;
    const char *packages = info->dlpi_name ? strstr(info->dlpi_name, "-packages/") : NULL;
    char folder[PATH_MAX];
    if (!packages || (size_t)(packages - info->dlpi_name) > sizeof(folder) - sizeof("-packages"))
        return 0;
    snprintf(folder, sizeof(folder), "%.*s-packages", (int)(packages - info->dlpi_name), info->dlpi_name);
    return search_wheels(search, folder);
}

/* Searches the Python environment at the folder PREFIX, LENGTH bytes long. */
static int search_environment(const struct search *search, const char *prefix, size_t length)
{
    char pattern[PATH_MAX];
    int size = snprintf(pattern, sizeof(pattern), "%.*s/lib/python3*/*-packages", (int)length, prefix);
    return size < 0 || (size_t)size >= sizeof(pattern) ? 0 : search_wheels(search, pattern);
}

/* Searches the environment that gputrace is installed in, which this code is one or two folders below. */
static int search_own_environment(const struct search *search)
{
    Dl_info self;
    char path[PATH_MAX];
    if (!dladdr(cupti_kinds, &self) || !self.dli_fname || !realpath(self.dli_fname, path))
        return 0;
    int result = 0;
    for (unsigned levels = 0; levels < 3 && !result; levels++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            break;
        *slash = '\0';
        result = levels > 0 ? search_environment(search, path, strlen(path)) : 0;
    }
    return result;
}

/* Searches the active environments of venv and of Conda, which also has CUDA's libraries among its own. */
static int search_active_environments(const struct search *search)
{
    const char *venv = getenv("VIRTUAL_ENV"), *conda = getenv("CONDA_PREFIX");
    int result = venv && *venv ? search_environment(search, venv, strlen(venv)) : 0;
    if (!result && conda && *conda)
        result = search_folder(search, conda, strlen(conda), "/lib");
    return result || !conda || !*conda ? result : search_environment(search, conda, strlen(conda));
}

int cupti_path_each(const char *preferred, int (*try)(void *context, const char *path), void *context)
{
    struct search search = {.try = try, .context = context};
    int result = preferred && *preferred ? try(context, preferred) : 0;
    if (!result) {
        const char *list = getenv("LD_LIBRARY_PATH");
        for (size_t length; list && *list && !result; list += length + (list[length] != '\0')) {
            length = strcspn(list, ":;");
            if (length > 0)
                result = search_folder(&search, list, length, "");
        }
    }
    if (!result)
        result = dl_iterate_phdr(search_beside, &search);
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; !result && i < COUNT(homes); i++)
        result = search_toolkit(&search, homes[i]);
    if (!result)
        result = search_active_environments(&search);
    if (!result)
        result = search_own_environment(&search);
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
