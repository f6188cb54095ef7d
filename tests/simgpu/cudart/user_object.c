/* The runtime API: what graphs hold for a program. */
#include "cudart/runtime.h"

RUNTIME_FORWARD(cudaUserObjectCreate, v11030, cuUserObjectCreate)
RUNTIME_FORWARD_PLAIN(cudaUserObjectRetain, v11030, cuUserObjectRetain)
RUNTIME_FORWARD_PLAIN(cudaUserObjectRelease, v11030, cuUserObjectRelease)
RUNTIME_FORWARD_PLAIN(cudaGraphRetainUserObject, v11030, cuGraphRetainUserObject)
RUNTIME_FORWARD_PLAIN(cudaGraphReleaseUserObject, v11030, cuGraphReleaseUserObject)
