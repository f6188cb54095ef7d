/*
 * Perfetto's trace format: the numbers of the fields that gputrace writes and reads, and how it uses them.
 *
 * Each list names the file of https://github.com/google/perfetto, below protos/perfetto, that its numbers are from (as
 * of mid-2026). Readers of older versions skip fields that they do not know.
 *
 * A file is a sequence of pieces. In a piece every row of the trace (struct row) has up to three packet sequences, one
 * for each kind of its events (enum pftrace_lane), so that
 *
 *   - the row is written once, as the sequence's default track, and not with every event;
 *   - times are differences from the row's packet before, in two or three bytes (PFTRACE_CLOCK_DELTA); a packet that is
 *     earlier than the one before it has the time since the trace's base (PFTRACE_CLOCK_SINCE_BASE);
 *   - threads that write pieces at the same time need no common numbers for interned texts: a sequence begins by
 *     clearing its state, and its number may have been another row's in an earlier piece.
 *
 * A piece has one section or more. A section begins with a packet that holds PFTRACE_OWN_SECTION. Nothing in a section
 * depends on what precedes it: sequences' interned texts and clocks, and tracks of counters are written again. So
 * several threads can read sections, and a reader forgets everything when a section begins.
 *
 * In a file each section is compressed: its packets are the compressed_packets of one packet, whose first field is
 * PFTRACE_OWN_SECTION. The packets before the first section are compressed without that field. A .pftrace.gz is
 * compressed as a whole instead.
 *
 * A slice is a BEGIN directly followed by its END, or a GPU_RENDER_STAGE_EVENT. Perfetto sorts packets by time, and
 * packets of equal times by their place in the file; writer_events.c says what this requires of writers.
 *
 * Data that our reader needs and Perfetto has no field for is in our own fields PFTRACE_OWN_*. Their numbers are in a
 * range that no message of Perfetto's uses, so other readers skip them.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_FIELDS_H
#define GPUTRACE_TRACE_PFTRACE_FIELDS_H

#include <stdint.h>

/* trace/trace.proto: Trace */
enum { PB_TRACE_PACKET = 1 };

/* trace/trace_packet.proto: TracePacket */
enum {
    PB_PACKET_CLOCK_SNAPSHOT = 6,
    PB_PACKET_TIMESTAMP = 8,
    PB_PACKET_SEQUENCE_ID = 10, /* trusted_packet_sequence_id */
    PB_PACKET_TRACK_EVENT = 11,
    PB_PACKET_INTERNED_DATA = 12,
    PB_PACKET_SEQUENCE_FLAGS = 13,
    PB_PACKET_COMPRESSED_PACKETS = 50, /* a zlib stream of packets with their frames; no nesting */
    PB_PACKET_GPU_RENDER_STAGE_EVENT = 53,
    PB_PACKET_TIMESTAMP_CLOCK_ID = 58,
    PB_PACKET_DEFAULTS = 59, /* trace_packet_defaults */
    PB_PACKET_TRACK_DESCRIPTOR = 60,
    PB_PACKET_TRACE_ATTRIBUTES = 126,
    PB_PACKET_GPU_INFO = 128,
};
enum { PB_SEQUENCE_STATE_CLEARED = 1 }; /* SEQ_INCREMENTAL_STATE_CLEARED */

/* trace/trace_packet_defaults.proto: TracePacketDefaults; trace/track_event/track_event.proto: TrackEventDefaults */
enum { PB_DEFAULTS_TRACK_EVENT = 11, PB_DEFAULTS_CLOCK_ID = 58 };
enum { PB_EVENT_DEFAULTS_TRACK_UUID = 11 };

/* trace/clock_snapshot.proto: ClockSnapshot, ClockSnapshot.Clock; common/builtin_clock.proto */
enum { PB_SNAPSHOT_CLOCK = 1, PB_SNAPSHOT_PRIMARY_TRACE_CLOCK = 2 };
enum { PB_CLOCK_ID = 1, PB_CLOCK_TIMESTAMP = 2, PB_CLOCK_IS_INCREMENTAL = 3 };
enum { PB_CLOCK_REALTIME_ID = 1, PB_CLOCK_BOOTTIME_ID = 6 };
/* Clocks that a sequence defines for itself: Perfetto reserves 64 to 127. */
enum { PFTRACE_CLOCK_DELTA = 64, PFTRACE_CLOCK_SINCE_BASE = 65 };

/* common/trace_attributes.proto: TraceAttributes, TraceAttributes.Attribute. They hold the trace's metadata: each key
 * of the JSON form with its value as JSON text. Perfetto's overview shows them as `trace_attribute.KEY`. */
enum { PB_ATTRIBUTES_ATTRIBUTE = 1 };
enum { PB_ATTRIBUTE_KEY = 1, PB_ATTRIBUTE_STRING_VALUE = 3 };

/* trace/system_info/gpu_info.proto: GpuInfo, GpuInfo.Gpu, GpuInfo.Gpu.KeyValue. The n-th Gpu describes GPU n. Perfetto
 * shows the bytes of its uuid as digits (ParseGpuInfo() of
 * src/trace_processor/importers/proto/system_probes_parser.cc). */
enum { PB_GPU_INFO_GPUS = 1 };
enum {
    PB_GPU_NAME = 1,
    PB_GPU_VENDOR = 2,
    PB_GPU_MODEL = 3,
    PB_GPU_ARCHITECTURE = 4,
    PB_GPU_UUID = 5,
    PB_GPU_EXTRA_INFO = 6,
    PB_GPU_PCI_BDF = 7,
};
enum { PB_GPU_EXTRA_KEY = 1, PB_GPU_EXTRA_VALUE = 2 };

/* trace/interned_data/interned_data.proto: InternedData; trace/gpu/gpu_interned_data.proto, which extends it by 1000
 * and 1001, as in PyTorch's writer of such traces (torch/csrc/profiler/cuspy/cuspy_pftrace.cpp) */
enum {
    PB_INTERNED_EVENT_CATEGORIES = 1,
    PB_INTERNED_EVENT_NAMES = 2,
    PB_INTERNED_ANNOTATION_NAMES = 3, /* debug_annotation_names */
    PB_INTERNED_FUNCTION_NAMES = 5,
    PB_INTERNED_FRAMES = 6,
    PB_INTERNED_CALLSTACKS = 7,
    PB_INTERNED_MAPPING_PATHS = 17,
    PB_INTERNED_SOURCE_PATHS = 18,
    PB_INTERNED_MAPPINGS = 19,
    PB_INTERNED_GRAPHICS_CONTEXTS = 23,
    PB_INTERNED_GPU_SPECIFICATIONS = 24,
    PB_INTERNED_STRING_VALUES = 29, /* debug_annotation_string_values */
    PB_INTERNED_COMPUTE_KERNELS = 1000,
    PB_INTERNED_COMPUTE_ARG_NAMES = 1001,
};
/* EventCategory, EventName, DebugAnnotationName, InternedString, InternedComputeArgName */
enum { PB_INTERNED_IID = 1, PB_INTERNED_NAME = 2 };

/* trace/profiling/profile_common.proto: Mapping, Frame, Callstack, whose first field is PB_INTERNED_IID. A call stack
 * ends with the innermost frame. A frame without a known function has a place in a mapping. */
enum { PB_MAPPING_PATH_STRING_IDS = 7 };
enum {
    PB_FRAME_FUNCTION_NAME_ID = 2,
    PB_FRAME_MAPPING_ID = 3,
    PB_FRAME_REL_PC = 4,
    PB_FRAME_SOURCE_PATH_IID = 5,
    PB_FRAME_LINE_NUMBER = 6,
};
enum { PB_CALLSTACK_FRAME_IDS = 2 };

/* trace/track_event/track_descriptor.proto and its neighbours: TrackDescriptor, ProcessDescriptor, ThreadDescriptor,
 * CounterDescriptor */
enum {
    PB_TRACK_UUID = 1,
    PB_TRACK_NAME = 2,
    PB_TRACK_PROCESS = 3,
    PB_TRACK_THREAD = 4,
    PB_TRACK_PARENT_UUID = 5,
    PB_TRACK_COUNTER = 8,
    PB_TRACK_CHILD_ORDERING = 11,
    PB_TRACK_SIBLING_ORDER_RANK = 12,
    PB_TRACK_DESCRIPTION = 14,
};
enum { PB_CHILD_ORDERING_EXPLICIT = 3 };
enum { PB_PROCESS_PID = 1, PB_PROCESS_NAME = 6 };
enum { PB_THREAD_PID = 1, PB_THREAD_TID = 2, PB_THREAD_NAME = 5 };
enum { PB_COUNTER_UNIT = 3 };
enum { PB_COUNTER_UNIT_COUNT = 2, PB_COUNTER_UNIT_SIZE_BYTES = 3 };

/* trace/track_event/track_event.proto: TrackEvent; trace/gpu/gpu_track_event.proto: 3000, and GpuCorrelation */
enum {
    PB_EVENT_CATEGORY_IIDS = 3,
    PB_EVENT_ANNOTATIONS = 4, /* debug_annotations */
    PB_EVENT_TYPE = 9,
    PB_EVENT_NAME_IID = 10,
    PB_EVENT_TRACK_UUID = 11,
    PB_EVENT_COUNTER_VALUE = 30,
    PB_EVENT_DOUBLE_COUNTER_VALUE = 44,
    PB_EVENT_FLOW_IDS = 47,             /* flows between TrackEvents that start here */
    PB_EVENT_TERMINATING_FLOW_IDS = 48, /* flows between TrackEvents that end here */
    PB_EVENT_CALLSTACK_IID = 56,        /* our reader uses the argument "stack" instead */
    PB_EVENT_GPU_CORRELATION = 3000,
};
enum { PB_TYPE_SLICE_BEGIN = 1, PB_TYPE_SLICE_END = 2, PB_TYPE_INSTANT = 3, PB_TYPE_COUNTER = 4 };
/* The number of a flow between TrackEvents is its id plus one of these, as calls and operators have separate ids. */
#define PFTRACE_FLOW_OF_CALL (UINT64_C(1) << 32)
#define PFTRACE_FLOW_OF_OPERATOR (UINT64_C(2) << 32)
enum { PB_CORRELATION_SUBMISSION_IDS = 1 }; /* render_stage_submission_event_ids, by which Perfetto draws flows */

/* trace/track_event/debug_annotation.proto: DebugAnnotation */
enum {
    PB_ANNOTATION_NAME_IID = 1,
    PB_ANNOTATION_BOOL = 2,
    PB_ANNOTATION_UINT = 3,
    PB_ANNOTATION_INT = 4,
    PB_ANNOTATION_DOUBLE = 5,
    PB_ANNOTATION_STRING = 6,
    PB_ANNOTATION_POINTER = 7,
    PB_ANNOTATION_JSON = 9, /* legacy_json_value */
    PB_ANNOTATION_STRING_IID = 17,
};

/* trace/gpu/gpu_render_stage_event.proto: GpuRenderStageEvent, its ComputeKernelLaunch and ExtraComputeArg,
 * InternedGraphicsContext, InternedGpuRenderStageSpecification, InternedComputeKernel */
enum {
    PB_STAGE_EVENT_ID = 1,
    PB_STAGE_DURATION = 2,
    PB_STAGE_CONTEXT = 5,
    PB_STAGE_GPU_ID = 11,
    PB_STAGE_HW_QUEUE_IID = 13,
    PB_STAGE_STAGE_IID = 14,
    PB_STAGE_KERNEL_IID = 19,
    PB_STAGE_LAUNCH = 21,
};
enum { PB_LAUNCH_ARGS = 3 };
enum {
    PB_COMPUTE_ARG_NAME_IID = 1,
    PB_COMPUTE_ARG_INT = 3,
    PB_COMPUTE_ARG_UINT = 4,
    PB_COMPUTE_ARG_DOUBLE = 5,
    PB_COMPUTE_ARG_STRING = 6,
};
enum { PB_CONTEXT_IID = 1, PB_CONTEXT_PID = 2, PB_CONTEXT_API = 3 };
enum { PB_CONTEXT_API_CUDA = 4 };
enum {
    PB_SPECIFICATION_IID = 1,
    PB_SPECIFICATION_NAME = 2,
    PB_SPECIFICATION_DESCRIPTION = 3,
    PB_SPECIFICATION_CATEGORY = 4
};
enum { PB_STAGE_CATEGORY_COMPUTE = 2 };
enum { PB_KERNEL_IID = 1, PB_KERNEL_ARGS = 5 };

/* Names of arguments that Perfetto's view of compute kernels knows. Arguments that a kernel's launches share are in the
 * interned kernel, under the names that they would have in a launch. */
#define PFTRACE_GRID "launch.grid_size."
#define PFTRACE_BLOCK "launch.workgroup_size."
#define PFTRACE_REGISTERS "registers_per_thread"

/* --- our own fields --- */

enum {
    PFTRACE_OWN_CBID = 9901,           /* EventName: argument "cbid" + 1 of all events of this name */
    PFTRACE_OWN_NO_CORRELATION = 9902, /* TracePacket of a TrackEvent, GpuRenderStageEvent: no argument "correlation" */
    PFTRACE_OWN_FLOW_DELAY = 9904,     /* GpuRenderStageEvent: ns from the slice's start to the flow's end */
    PFTRACE_OWN_JSON = 9905,           /* ExtraComputeArg: 1 if string_value is JSON */
    PFTRACE_OWN_COUNTER = 9906,        /* TrackDescriptor: name of the counter; PB_TRACK_NAME also names the value */
    PFTRACE_OWN_SERIES = 9907,         /* TrackDescriptor: name of the value; absent if the counter has one value */
    PFTRACE_OWN_SERIES_FOLLOW =
        9908,                 /* TracePacket of a TrackEvent: how many values of the counter follow at this time */
    PFTRACE_OWN_OWNER = 9910, /* TrackDescriptor of a GPU's rows: pid of the process whose operations they show */
    PFTRACE_OWN_RANK = 9909,  /* TrackDescriptor: the row's order, if it exceeds a rank's 32 bits */
    PFTRACE_OWN_COUNTER_U64 = 9912, /* TracePacket of a counter's value: the value if it exceeds int64 */
    PFTRACE_OWN_WHOLE = 9913,       /* TracePacket without other fields: PFTRACE_FILE_BEGINS or PFTRACE_FILE_ENDS */
    PFTRACE_OWN_DERIVED = 9914,     /* ExtraComputeArg: computed from other arguments and the GPU (writer_args.c) */
    PFTRACE_OWN_SECTION = 9911,     /* TracePacket with at most compressed_packets: 1, a section begins */
};

/* The first packet of a file announces the last one. If the last one is missing, the file was cut off between
 * packets. */
enum { PFTRACE_FILE_BEGINS = 1, PFTRACE_FILE_ENDS = 2 };

/* The lanes of a row, each a packet sequence. */
enum pftrace_lane {
    PFTRACE_LANE_CALLS,   /* calls, other slices of threads, and all that are not slices */
    PFTRACE_LANE_RANGES,  /* NVTX ranges, on a separate track below the thread's */
    PFTRACE_LANE_GPU_OPS, /* GPU operations, on Perfetto's GPU tracks */
    PFTRACE_LANE_COUNT,
};

/* Bits in the uuids of tracks. The uuid of a row contains its pid and tid. */
#define PFTRACE_UUID_RANGES (UINT64_C(1) << 31)
#define PFTRACE_UUID_COUNTER (UINT64_C(1) << 62)
#define PFTRACE_UUID_ASYNC (UINT64_C(1) << 63)

/* Returns the uuid of a row's track. TID 0 is the track of the process. */
static inline uint64_t pftrace_uuid(uint32_t pid, uint32_t tid)
{
    return ((uint64_t)pid + 1) << 32 | tid;
}

#endif
