#pragma once
// See algorithm.h.
