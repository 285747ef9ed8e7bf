using System.Net;
using System.Text;

namespace Tunnel2.Client.Core.Files;

/// <summary>Makes the page with the names in a folder.</summary>
internal static class FileListing
{
    private const int Most = 10_000;

    /// <summary>Makes it, in UTF-8.</summary>
    /// <param name="finder">Says what is shown.</param>
    /// <param name="folder">The folder.</param>
    public static byte[] Make(FileFinder finder, string folder)
    {
        string title = WebUtility.HtmlEncode("/" + Path.GetRelativePath(finder.Root, folder).Replace('\\', '/').TrimStart('.'));
        var text = new StringBuilder("<!doctype html><html><head><meta charset=\"utf-8\"><title>").Append(title)
            .Append("</title></head><body><h1>").Append(title).Append("</h1><ul>\n");
        if (folder != finder.Root)
        {
            text.Append("<li><a href=\"../\">../</a></li>\n");
        }

        FileSystemInfo[] all = [.. new DirectoryInfo(folder).EnumerateFileSystemInfos().Take(Most + 1)];
        foreach (FileSystemInfo entry in
            all.Take(Most).Where(finder.IsListed).OrderBy(static entry => entry.Name, StringComparer.Ordinal))
        {
            string slash = Directory.Exists(entry.FullName) ? "/" : "";
            text.Append("<li><a href=\"./").Append(WebUtility.HtmlEncode(Uri.EscapeDataString(entry.Name))).Append(slash).Append("\">")
                .Append(WebUtility.HtmlEncode(entry.Name)).Append(slash).Append("</a></li>\n");
        }

        string more = all.Length > Most ? $"<p>The folder has more than {Most} names; the others are not listed.</p>" : "";
        return Encoding.UTF8.GetBytes(text.Append("</ul>").Append(more).Append("</body></html>\n").ToString());
    }
}
