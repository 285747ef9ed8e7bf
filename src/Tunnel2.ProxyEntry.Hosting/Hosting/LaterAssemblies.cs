using System.Reflection;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// Loads assemblies that the first request of a kind would load. Each keeps two descriptors, and one that cannot be loaded fails the
/// request or the process. Loaded at the start, they count among the open files when descriptors are divided.
/// </summary>
internal static class LaterAssemblies
{
    private static readonly string[] _names =
    [
        "Microsoft.AspNetCore.Http.Features", "Microsoft.AspNetCore.WebUtilities", "System.Diagnostics.StackTrace", "System.Net.WebSockets",
        "System.Security.Claims", "System.Threading.Channels",
    ];

    /// <summary>Loads them. A missing one is not needed.</summary>
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
                // Another version of the framework has it in another place.
            }
        }
    }
}
