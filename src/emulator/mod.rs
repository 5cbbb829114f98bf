//! The whole service as a server: a pure world, and the shell that puts it on a socket.
