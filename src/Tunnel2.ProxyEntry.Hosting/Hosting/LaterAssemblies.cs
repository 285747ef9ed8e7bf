using System.Reflection;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// Loads what would be loaded by the first request of a kind: an assembly keeps two descriptors for good, and one that cannot be loaded
/// fails the request, or the process. Where descriptors are few, they are counted with those open from the start.
/// </summary>
internal static class LaterAssemblies
{
    private static readonly string[] _names =
    [
        "Microsoft.AspNetCore.Http.Features", "Microsoft.AspNetCore.WebUtilities", "System.Diagnostics.StackTrace", "System.Net.WebSockets",
        "System.Security.Claims", "System.Threading.Channels",
    ];

    /// <summary>Loads them. One that is not there is not needed.</summary>
    public static void Load()
    {
        foreach (var name in _names)
        {
            try
            {
                Assembly.Load(name);
            }
            catch (Exception exception) when (exception is IOException or BadImageFormatException)
            {
                // Another version of the framework has it elsewhere.
            }
        }
    }
}
