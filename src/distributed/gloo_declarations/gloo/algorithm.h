#pragma once
// LibTorch's wheels contain Gloo and c10d's header for it, but not Gloo's own headers, which that header
// includes. The files of this folder declare as much of them as c10d's header names; nothing of Gloo is
// called directly.
