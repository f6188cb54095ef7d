/*
 * Writes names of kernels for people (--names=pretty):
 *
 *   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(…)
 *       ->  vectorized_elementwise<4, add<float>>
 *
 * Return types, parameters, namespaces of libraries and unnamed namespaces are dropped, and template arguments that
 * seldom distinguish kernels are omitted. If the names of two kernels coincide, omissions in which they differ are
 * written after all.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_PRETTY_NAME_H
#define GPUTRACE_ANALYSIS_NAMES_PRETTY_NAME_H

#include <stddef.h>
#include <stdint.h>

struct buffer;

#define PRETTY_OMISSIONS 64
/* Value of REVEAL: nothing is omitted, and words are not changed either. */
#define PRETTY_PLAIN UINT64_MAX

/* The parts of a name that were left out, in the order of the name, in bytes. Only the first PRETTY_OMISSIONS are
 * listed. */
struct pretty_omissions {
    size_t count;
    struct pretty_omission {
        size_t at, length;
    } items[PRETTY_OMISSIONS];
};

/*
 * Appends the pretty form of NAME (LENGTH bytes) to OUT. Omissions whose bits are set in REVEAL are written after all.
 * OMISSIONS, which may be NULL, receives all omissions, also the written ones; none with PRETTY_PLAIN.
 *
 * The result is always valid UTF-8, and is its own pretty form. A name that is neither a C++ function with
 * parameters nor of a known library is appended as it is, with U+FFFD for bytes that are not UTF-8.
 */
void pretty_name_write(struct buffer *out, const char *name, size_t length, uint64_t reveal,
                       struct pretty_omissions *omissions);

/* Appends NAME as it is, with U+FFFD for bytes that are not UTF-8. */
void pretty_name_whole(struct buffer *out, const char *name, size_t length);

#endif
