using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client.Core.Backend;

/// <summary>What the limit of open files leaves for connections to backends.</summary>
internal static class FilesForBackends
{
    /// <summary>
    /// For what the process opens later: uplinks, the resolver, and files of the runtime, which ends the process where it cannot open them.
    /// </summary>
    private const int Reserve = 32;

    /// <summary>Connections that there may be; <see cref="int.MaxValue"/> where there is no limit or the system does not say.</summary>
    /// <param name="later">What the process is known to open later, beyond the reserve.</param>
    /// <param name="root">In place of <c>/</c>, for tests.</param>
    public static int Left(int later = 0, string root = "/")
    {
        int limit = OpenFiles.Limit(root);
        return limit == int.MaxValue ? limit : Math.Max(1, limit - OpenFiles.Count(root) - later - Math.Max(Reserve, limit / 16));
    }
}
