! Three ranks of a Fortran program that call MPI in many ways, and print what came of it. Compiled by the tests with
! each MPI, with its module mpi, or with mpi_f08 where F08 is defined.
program fortran
#ifdef F08
  use mpi_f08
  use iso_c_binding
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define TYPE type(MPI_Datatype)
#define WINDOW type(MPI_Win)
#define MESSAGE type(MPI_Message)
#define FILE type(MPI_File)
#define BASE type(c_ptr)
#define ERROR
#define LAST
#else
  use mpi
#define COMM integer
#define REQUEST integer
#define TYPE integer
#define WINDOW integer
#define MESSAGE integer
#define FILE integer
#define BASE integer(kind=MPI_ADDRESS_KIND)
#define ERROR , error
#define LAST error
#endif
  implicit none
  integer :: rank, error, right, left, given, i, total
  integer :: out(16), in(16), counts(3), places(3), ones(3), bytes(3)
  double precision :: doubles(4)
  COMM :: half, copy
  REQUEST :: requests(2)
  TYPE :: types(3)
  WINDOW :: win
  MESSAGE :: found
  FILE :: file
  BASE :: memory
  integer(kind=MPI_ADDRESS_KIND) :: place
  integer(kind=MPI_OFFSET_KIND) :: offset
  character(len=1000) :: name

  error = 0
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, given ERROR)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank ERROR)
  right = mod(rank + 1, 3)
  left = mod(rank + 2, 3)
  do i = 1, 16
     out(i) = rank * 100 + i
  end do
  in = 0
  doubles = rank
  do i = 1, 3
     counts(i) = i
     places(i) = i * (i - 1) / 2
     ones(i) = 1
     bytes(i) = 4 * (i - 1)
     types(i) = MPI_INTEGER
  end do
  call MPI_Irecv(in, 5, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, requests(1) ERROR)
  call MPI_Isend(out, 5, MPI_INTEGER, right, 7, MPI_COMM_WORLD, requests(2) ERROR)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE ERROR)
  call MPI_Sendrecv(out, 2, MPI_INTEGER, right, 8, in, 4, MPI_INTEGER, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERROR)
  total = sum(in)
  call MPI_Barrier(MPI_COMM_WORLD ERROR)
  call MPI_Allreduce(MPI_IN_PLACE, doubles, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD ERROR)
  total = total + int(doubles(1))
  call MPI_Bcast(out, 6, MPI_INTEGER, 1, MPI_COMM_WORLD ERROR)
  if (rank == 0) then
     call MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD ERROR)
  else
     call MPI_Gatherv(out, rank + 1, MPI_INTEGER, in, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD ERROR)
  end if
  call MPI_Alltoallw(out, ones, bytes, types, in, ones, bytes, types, MPI_COMM_WORLD ERROR)
  total = total + in(3)
  call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, half ERROR)
  call MPI_Comm_dup(half, copy ERROR)
  call MPI_Reduce(out, in, 2, MPI_INTEGER, MPI_MAX, 0, copy ERROR)
  call MPI_Comm_free(copy ERROR)
  call MPI_Send(out, 1, MPI_INTEGER, MPI_PROC_NULL, 3, half ERROR)
  call MPI_Isend(out, 2, MPI_INTEGER, right, 9, MPI_COMM_WORLD, requests(1) ERROR)
  call MPI_Mprobe(left, 9, MPI_COMM_WORLD, found, MPI_STATUS_IGNORE ERROR)
  call MPI_Mrecv(in, 2, MPI_INTEGER, found, MPI_STATUS_IGNORE ERROR)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE ERROR)
  total = total + in(2)
  place = 64
  call MPI_Win_allocate(place, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win ERROR)
  call MPI_Win_fence(0, win ERROR)
  place = 0
  call MPI_Put(out, 3, MPI_INTEGER, right, place, 3, MPI_INTEGER, win ERROR)
  call MPI_Win_fence(0, win ERROR)
  call MPI_Win_free(win ERROR)
  call get_command_argument(1, name)
  call MPI_File_open(MPI_COMM_WORLD, trim(name), ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), MPI_INFO_NULL, file ERROR)
  offset = 8 * rank
  call MPI_File_set_view(file, offset, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL ERROR)
  call MPI_File_write(file, out, 2, MPI_INTEGER, MPI_STATUS_IGNORE ERROR)
  call MPI_File_close(file ERROR)
  print '(a,i0,a,i0)', 'rank ', rank, ': ', total
  call MPI_Finalize(LAST)
end program fortran
