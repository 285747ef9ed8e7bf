using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Commands;

/// <summary>
/// <c>tunnel2 hash-password USER</c>: reads a password from the standard input and prints the user with its hash, for a file of tunnels, a
/// flag or the server's settings. It stores nothing, and never prints the password.
/// </summary>
internal static class HashPasswordCommand
{
    /// <summary>Runs the command.</summary>
    /// <returns>0, or 2 for a mistake.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="stop"/>.</exception>
    public static async Task<int> RunAsync(CommandConsole console, CancellationToken stop)
    {
        // A second word is probably the password: no message repeats it.
        if (console.Line.Arguments is not [var user])
        {
            return await console.MistakeAsync("'hash-password' takes one user's name, as in 'tunnel2 hash-password alice'");
        }

        if (!AccessUser.IsName(user))
        {
            return await console.MistakeAsync(
                "USER: a user's name has 1 to 64 visible ASCII characters, without colon, comma, quote and backslash");
        }

        if (console.IsAsked)
        {
            await console.Error.WriteAsync("Password: ");
        }

        string? password;
        try
        {
            password = await CommandConsole.WaitAsync(() => console.ReadPiped?.Invoke() ?? console.ReadSecret?.Invoke(), stop);
        }
        finally
        {
            if (console.IsAsked)
            {
                await console.Error.WriteLineAsync();
            }
        }

        if (password is null || !AccessOptionsParser.IsPassword(password))
        {
            return await console.MistakeAsync(
                "the password is empty, too long, or has control characters; it is the first line of the standard input");
        }

        string hash = PasswordHash.Create(password).ToText();
        return console.IsJson
            ? await console.WriteJsonAsync(json =>
            {
                json.WriteString("user", user);
                json.WriteString("hash", hash);
            })
            : await console.WriteAsync($"{user}:{hash}\n");
    }
}
