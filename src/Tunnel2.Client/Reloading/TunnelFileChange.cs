using System.Diagnostics.CodeAnalysis;
using Tunnel2.Client.TunnelFiles;

namespace Tunnel2.Client.Reloading;

/// <summary>What is to be done with the tunnels that run, after their file was read again.</summary>
/// <param name="Tunnels">All tunnels from now on. Those that stay are the same objects as before.</param>
/// <param name="Added">Those that begin.</param>
/// <param name="Changed">Those that begin again, under the name that they had.</param>
/// <param name="Removed">The names of those that end.</param>
internal sealed record TunnelFileChange(
    IReadOnlyList<LoadedTunnel> Tunnels,
    IReadOnlyList<LoadedTunnel> Added,
    IReadOnlyList<LoadedTunnel> Changed,
    IReadOnlyList<string> Removed)
{
    /// <summary>Whether anything is different.</summary>
    public bool IsNothing => Added.Count + Changed.Count + Removed.Count == 0;

    /// <summary>
    /// Compares. A tunnel is known by its name; one that the file does not name is known by all of its settings, and keeps the random name
    /// that it has.
    /// </summary>
    /// <param name="before">The tunnels that run.</param>
    /// <param name="after">Those of the file.</param>
    public static TunnelFileChange Between(IReadOnlyList<LoadedTunnel> before, IReadOnlyList<LoadedTunnel> after)
    {
        var named = before.Where(static tunnel => tunnel.IsNamed).ToDictionary(static tunnel => tunnel.Options.Name);
        List<LoadedTunnel> unnamed = [.. before.Where(static tunnel => !tunnel.IsNamed)];
        var tunnels = new List<LoadedTunnel>();
        var added = new List<LoadedTunnel>();
        var changed = new List<LoadedTunnel>();
        foreach (LoadedTunnel tunnel in after)
        {
            // A random name that was written into the file is a change, too.
            if (tunnel.IsNamed && (named.Remove(tunnel.Options.Name, out LoadedTunnel? old) || Take(unnamed, tunnel.Options.Name, out old)))
            {
                if (old.IsSameAs(tunnel))
                {
                    tunnels.Add(old);
                    continue;
                }

                // The server takes it for the agent that had the name, and gives it to it at once.
                LoadedTunnel next = tunnel with { Options = tunnel.Options with { InstanceKey = old.Options.InstanceKey } };
                tunnels.Add(next);
                changed.Add(next);
            }
            else if (!tunnel.IsNamed && unnamed.FindIndex(tunnel.IsSameAs) is >= 0 and var index)
            {
                tunnels.Add(unnamed[index]);
                unnamed.RemoveAt(index);
            }
            else
            {
                tunnels.Add(tunnel);
                added.Add(tunnel);
            }
        }

        return new TunnelFileChange(
            tunnels,
            added,
            changed,
            [.. named.Keys.Concat(unnamed.Select(static tunnel => tunnel.Options.Name))]);
    }

    private static bool Take(List<LoadedTunnel> tunnels, string name, [NotNullWhen(true)] out LoadedTunnel? taken)
    {
        taken = tunnels.FirstOrDefault(tunnel => tunnel.Options.Name == name);
        return taken is not null && tunnels.Remove(taken);
    }
}
