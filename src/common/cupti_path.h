/* The one order in which a libcupti is searched, for the library, which loads it, and for `gputrace doctor`. */
#ifndef GPUTRACE_COMMON_CUPTI_PATH_H
#define GPUTRACE_COMMON_CUPTI_PATH_H

#define CUPTI_OLDEST 18 /* what cuptiGetVersion() says of CUDA 11.8's: an older one crashes programs */

/*
 * Calls TRY with one name for dlopen() after the other, until it gives non-zero; gives that, else 0:
 *   1. PREFERRED (the setting GPUTRACE_CUPTI; NULL or "": none), whether it exists or not
 *   2. those that exist in the folders of LD_LIBRARY_PATH, for it says which CUDA this program shall use
 *   3. those that exist in the toolkits $CUDA_HOME, $CUDA_PATH and /usr/local/cuda
 *   4. bare sonames, newest first, for the rest of the loader's own search
 * PATH is valid during the call alone. Nothing is loaded, allocated or printed here.
 */
int cupti_path_each(const char *preferred, int (*try)(void *context, const char *path), void *context);

#endif
