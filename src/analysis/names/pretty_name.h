/*
 * Names of kernels as people read them (--names=pretty):
 *
 *     void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(…)
 *         ->  vectorized_elementwise<4, add<float>>
 *
 * Return types, parameters, namespaces of libraries and unnamed namespaces are dropped, and template arguments that
 * seldom tell kernels apart are left out as pieces. Where names of two kernels coincide, pieces are written again.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_PRETTY_NAME_H
#define GPUTRACE_ANALYSIS_NAMES_PRETTY_NAME_H

#include <stddef.h>
#include <stdint.h>

struct buffer;

#define PRETTY_PIECES 64
/* REVEAL of all pieces, where words are not changed either. */
#define PRETTY_PLAIN UINT64_MAX

/* What was left out, in the order of the name: bytes of the name. Further pieces than these are not listed. */
struct pretty_pieces {
    size_t count;
    struct pretty_piece {
        size_t at, length;
    } piece[PRETTY_PIECES];
};

/*
 * Appends the pretty form of NAME (LENGTH bytes) to OUT, with the pieces that are bits of REVEAL. PIECES, which may be
 * NULL, gets all pieces, also those of REVEAL; PRETTY_PLAIN lists none.
 *
 * The result is valid UTF-8, whatever the name, and is its own pretty form. A name that is neither a C++ function with
 * parameters nor of a known library is appended as it is, with U+FFFD for bytes that are not UTF-8.
 */
void pretty_name_write(struct buffer *out, const char *name, size_t length, uint64_t reveal,
                       struct pretty_pieces *pieces);

/* Appends NAME as it is, with U+FFFD for bytes that are not UTF-8. */
void pretty_name_whole(struct buffer *out, const char *name, size_t length);

#endif
