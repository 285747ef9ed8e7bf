using System.Runtime.InteropServices;

namespace Tunnel2.Telemetry.MessageStore;

/// <summary>
/// Two empty cache lines (the prefetcher fetches them in pairs), for a class whose instances are written by different cores.
/// </summary>
[StructLayout(LayoutKind.Sequential, Size = 128)]
internal readonly struct CacheLinePadding;
