using System.Globalization;

namespace Tunnel2.HubLoad;

/// <summary>Numbers given as <c>--name value</c>.</summary>
internal sealed class RunOptions(string[] args)
{
    public int Get(string name, int fallback)
    {
        int at = Array.IndexOf(args, name);
        return at < 0 || at + 1 == args.Length ? fallback : int.Parse(args[at + 1], CultureInfo.InvariantCulture);
    }
}
