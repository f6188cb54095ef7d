/*
 * Searches each name once for words that libraries and the driver use, and remembers the bits.
 */
#include "analysis/names/name_facts.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "trace/event_fields.h"

#define NAME_KNOWN 0x8000u
#define NAME_TENSOR 0x4000u /* the kernel uses tensor cores, so it is not NAME_FLOAT32 */

static const struct {
    const char *word;
    unsigned facts;
} words[] = {
    {"Pageable", NAME_PAGEABLE},
    {"HtoD", NAME_HTOD},
    {"DtoH", NAME_DTOH},
    {"GraphInstantiate", NAME_INSTANTIATES},
    {"Graph instantiation", NAME_INSTANTIATES},
    {"Graph ", NAME_NO_CODE},
    {"Context creation", NAME_NO_CODE},
    {"JIT compile", NAME_JIT},
    {"XlaCompile:", NAME_JIT},
    {"Page Fault", NAME_FAULT},
    {"Unified Memory memcpy", NAME_MIGRATION},
    {"Memset (Pinned", NAME_OF_HOST},
    {"Memset (Managed", NAME_OF_HOST},
    /* Names of cuBLAS and cutlass kernels contain the types that they multiply. */
    {"simt_sgemm", NAME_FLOAT32},
    {"_sgemm_", NAME_FLOAT32},
    {"f32f32_f32f32_f32", NAME_FLOAT32},
    {"tf32", NAME_TENSOR},
    {"tensorop", NAME_TENSOR},
    {"hmma", NAME_TENSOR},
    {"s1688", NAME_TENSOR},
    {"s16816", NAME_TENSOR},
};

unsigned name_facts_find(struct name_facts *facts, const struct interner *strings, uint32_t name)
{
    if (name == EVENT_NO_TEXT)
        return 0;
    uint16_t *known = array_at(&facts->items, name);
    if (!known)
        return 0;
    if (*known)
        return *known & ~NAME_KNOWN;
    unsigned bits = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        bits |= strstr(interned(strings, name), words[i].word) ? words[i].facts : 0;
    bits = bits & NAME_TENSOR ? bits & ~(NAME_TENSOR | NAME_FLOAT32) : bits;
    *known = (uint16_t)(bits | NAME_KNOWN);
    return bits;
}

bool name_is_data_loader(const char *name)
{
    return strstr(name, "__next__") && (strstr(name, "DataLoader") || strstr(name, "(dataloader.py"));
}

bool name_is_compiling(const char *name)
{
    return strncmp(name, "Xla", 3) == 0 && strncmp(name, "XlaModule:", 10) != 0;
}

/* --- communication --- */

#define PLAIN_MOST 512 /* characters; longer names are cut */

enum beginning { WITHIN, WORD, IDENTIFIER }; /* an identifier is a word, too */

struct plain {
    char text[PLAIN_MOST];
    int begins[PLAIN_MOST]; /* by character: what begins there, an enum beginning */
    size_t length;
};

/* clang-format off */
/* Names of communication libraries and of their kernels. One of them shows that a kernel communicates. */
static const char *const libraries[] = {
    "nccl", "rccl", "hccl", "oneccl", "msccl", "uccl", "nvshmem", "rocshmem", "ishmem", "symmetricmemory",
    "crossdevicereduce", "moea2a", "moedistribute", "epdispatch", "epcombine", "kuserbuffers", "userbuffersfp16",
    "hcombroadcast", "hcomsend", "hcomreceive", "exchangesplitandoffset", "barrieronstream", "barrierallonstream",
    "synconstream", "syncallonstream", "fcollectonstream", "rdxnonstream", NULL};
/* Names of operations. One of them shows that a kernel communicates, unless the threads of a block or a warp do the
 * operation among themselves. */
static const char *const operations[] = {
    "allreduce", "allgather", "reducescatter", "alltoall", "all2all", "multimem", "collectivepermute",
    "collectivebroadcast", NULL};
/* The words for such threads, and the words that may come between them and the operation: "thread_group_all_reduce". */
static const char *const local[] = {
    "block", "threadblock", "warp", "subwarp", "wave", "wavefront", "thread", "lane", "subgroup", "workgroup",
    "cta", "simd", "quad", "local", NULL};
static const char *const fillers[] = {"group", "wide", "level", "wise", "scope", "kernel", NULL};
/* clang-format on */

/* Namespaces of DeepEP and similar libraries, and the beginnings of functions in them that communicate. */
static const char *const namespaces[] = {"deepep", "internode", "intranode", "pplx", "mooncake", NULL};
static const char *const functions[] = {"dispatch", "combine",         "notify", "cachednotify",
                                        "barrier",  "cleanlowlatency", NULL};

/* Returns what begins at NAME, a letter or digit that follows BEFORE. */
static int beginning(const char *name, char before, bool first)
{
    bool camel = isupper((unsigned char)*name) && (islower((unsigned char)before) || islower((unsigned char)name[1]));
    if (isalpha((unsigned char)before))
        return camel ? WORD : WITHIN;
    return before == '_' && !first ? WORD : IDENTIFIER;
}

static void make_plain(struct plain *plain, const char *name)
{
    static const char unnamed[] = "(anonymous namespace)";
    int depth = 0;
    char before = 0;
    for (plain->length = 0; *name && plain->length + 1 < PLAIN_MOST; before = *name++) {
        if (strncmp(name, unnamed, strlen(unnamed)) == 0)
            name += strlen(unnamed) - 1;
        else if (*name == '<' || *name == '>')
            depth += *name == '<' ? 1 : -(depth > 0);
        else if (depth == 0 && (*name == '(' || strncmp(name, " [", 2) == 0))
            break;
        else if (depth == 0 && *name == ' ')
            plain->length = 0; /* the text before was the return type */
        else if (depth == 0 && isalnum((unsigned char)*name)) {
            plain->begins[plain->length] = beginning(name, before, plain->length == 0);
            plain->text[plain->length++] = (char)tolower((unsigned char)*name);
        }
    }
    plain->text[plain->length] = '\0';
}

/* Returns the length that the first LENGTH characters of the name have without one of ENDS at their end, at whose place
 * at least LEAST begins. Returns LENGTH if the name has none of ENDS. */
static size_t without_any(const struct plain *plain, size_t length, const char *const *ends, int least)
{
    for (; *ends; ends++) {
        size_t size = strlen(*ends), at = length - size;
        if (size <= length && memcmp(plain->text + at, *ends, size) == 0 && plain->begins[at] >= least)
            return at;
    }
    return length;
}

/* Returns the first place from AT on at which at least NEXT begins: IDENTIFIER for the end of the identifier, WORD for
 * the end of the word. */
static size_t end_of(const struct plain *plain, size_t at, int next)
{
    while (at < plain->length && plain->begins[at] < next)
        at++;
    return at;
}

/* Returns whether the word that ends at END is whole: another word, a number, or one letter follows (alltoallv,
 * nvshmemx). */
static bool is_whole(const struct plain *plain, size_t end)
{
    size_t next = end_of(plain, end, WORD);
    return next == end || isdigit((unsigned char)plain->text[end]) ||
           (next == end + 1 && strchr("vix", plain->text[end]));
}

/* Returns the place of one of ANY in the name from FROM on, at which at least LEAST begins, or -1. */
static ptrdiff_t find_any(const struct plain *plain, size_t from, const char *const *any, int least)
{
    for (; *any; any++)
        for (const char *at = strstr(plain->text + from, *any); at; at = strstr(at + 1, *any))
            if (plain->begins[at - plain->text] >= least)
                return at - plain->text;
    return -1;
}

/* Returns whether one of ANY is a whole word of the name. OF_LIBRARIES: the beginning of an identifier is enough.
 * Otherwise, operations that the threads of one block do among themselves do not count. */
static bool has_word(const struct plain *plain, const char *const *any, bool of_libraries)
{
    for (; *any; any++) {
        ptrdiff_t at = -1;
        while ((at = find_any(plain, (size_t)(at + 1), (const char *const[]){*any, NULL}, WORD)) >= 0) {
            size_t end = (size_t)at + strlen(*any);
            bool begins = of_libraries && plain->begins[at] == IDENTIFIER;
            const size_t places[] = {(size_t)at, end_of(plain, end, IDENTIFIER)};
            bool among = false; /* done by the threads of one block */
            for (unsigned i = 0; i < 2; i++) {
                size_t rest = without_any(plain, places[i], fillers, WITHIN);
                among |= without_any(plain, places[i], local, WORD) < places[i] ||
                         without_any(plain, rest, local, WORD) < rest;
            }
            if (begins || (is_whole(plain, end) && (of_libraries || !among)))
                return true;
        }
    }
    return false;
}

size_t communication_find_word(const char *name, const char *const *list, size_t count)
{
    struct plain plain;
    size_t i = 0;
    make_plain(&plain, name);
    while (i < count && find_any(&plain, 0, (const char *const[]){list[i], NULL}, WORD) < 0)
        i++;
    return i;
}

bool communication_is_kernel(const char *name)
{
    struct plain plain;
    make_plain(&plain, name);
    /* PyTorch's compiler names its kernels after the operators around them: triton_poi_fused_all_gather_wait_0. */
    if (strncmp(plain.text, "triton", strlen("triton")) == 0 && strstr(plain.text, "fused"))
        return false;
    ptrdiff_t within = find_any(&plain, 0, namespaces, IDENTIFIER);
    return has_word(&plain, libraries, true) || has_word(&plain, operations, false) ||
           (within >= 0 && find_any(&plain, (size_t)within, functions, IDENTIFIER) >= 0);
}
