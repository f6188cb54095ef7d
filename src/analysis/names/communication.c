/*
 * Names are compared in one plain form, in which "ncclDevKernel_AllReduce", "one_shot_all_reduce_kernel" and
 * "twoShotAllReduceKernel" have the same words: the function with its namespaces, in lower case and without
 * underscores. A word of a table counts only where a word of the name begins, so that "small_reduce" is not
 * "all_reduce".
 */
#include "analysis/names/communication.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define PLAIN_MOST 512 /* of longer names the begin is looked at */

enum beginning { WITHIN, WORD, IDENTIFIER }; /* an identifier is a word, too */

struct plain {
    char text[PLAIN_MOST];
    int begins[PLAIN_MOST]; /* what begins at each: enum beginning */
    size_t length;
};

/* clang-format off */
/* Words that say it alone, unless the threads of a block or a warp do it. */
static const char *const words[] = {
    "nccl", "rccl", "hccl", "oneccl", "msccl", "uccl", "nvshmem", "rocshmem", "ishmem", "symmetricmemory",
    "allreduce", "allgather", "reducescatter", "alltoall", "all2all", "crossdevicereduce", "multimemreduce",
    "multimembroadcast", "moea2a", "epdispatch", "epcombine", "kuserbuffers", "userbuffersfp16", "hcombroadcast",
    "hcomsend", "hcomreceive", NULL};
static const char *const local[] = {"block", "warp", "wave", "thread", "lane", NULL};
/* clang-format on */

/* DeepEP's, and what its functions in these namespaces begin with. */
static const char *const namespaces[] = {"deepep", "internode", "intranode", "pplx", NULL};
static const char *const functions[] = {"dispatch", "combine", "notify", "cachednotify", "barrier", NULL};

/* What begins at NAME, a letter or digit after BEFORE. */
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
            plain->length = 0; /* that was the type it returns */
        else if (depth == 0 && isalnum((unsigned char)*name)) {
            plain->begins[plain->length] = beginning(name, before, plain->length == 0);
            plain->text[plain->length++] = (char)tolower((unsigned char)*name);
        }
    }
    plain->text[plain->length] = '\0';
}

static bool ends_with_any(const char *text, size_t length, const char *const *ends)
{
    for (; *ends; ends++)
        if (length >= strlen(*ends) && memcmp(text + length - strlen(*ends), *ends, strlen(*ends)) == 0)
            return true;
    return false;
}

/* The place of one of ANY in the name from FROM on, where at least LEAST begins, or -1. */
static ptrdiff_t find_any(const struct plain *plain, size_t from, const char *const *any, int least)
{
    for (; *any; any++)
        for (const char *at = strstr(plain->text + from, *any); at; at = strstr(at + 1, *any))
            if (plain->begins[at - plain->text] >= least &&
                !ends_with_any(plain->text, (size_t)(at - plain->text), local))
                return at - plain->text;
    return -1;
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
    ptrdiff_t within = find_any(&plain, 0, namespaces, IDENTIFIER);
    return find_any(&plain, 0, words, WORD) >= 0 ||
           (within >= 0 && find_any(&plain, (size_t)within, functions, IDENTIFIER) >= 0);
}
