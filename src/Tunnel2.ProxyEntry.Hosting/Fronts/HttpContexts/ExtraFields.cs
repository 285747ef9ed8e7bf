using System.Text;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>Adds ProxyEntry's own fields to a response of ASP.NET Core.</summary>
internal static class ExtraFields
{
    /// <summary>Adds the lines of the extras to the headers of a response.</summary>
    public static void CopyTo(this ExchangeExtras extras, IHeaderDictionary headers)
    {
        var lines = extras.ResponseLines;
        while (!lines.IsEmpty)
        {
            var end = lines.IndexOf((byte)'\n');
            var colon = lines.IndexOf((byte)':');
            headers.Append(Encoding.ASCII.GetString(lines[..colon]), Encoding.ASCII.GetString(lines[(colon + 2)..(end - 1)]));
            lines = lines[(end + 1)..];
        }
    }
}
