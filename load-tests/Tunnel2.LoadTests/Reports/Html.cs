using System.Net;

namespace Tunnel2.LoadTests.Reports;

/// <summary>Text on a page.</summary>
internal static class Html
{
    /// <summary>Makes it harmless.</summary>
    public static string Escape(string text) => WebUtility.HtmlEncode(text);
}
